set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.804
100000 4.867
1000000 4.943
EOD
$data1 << EOD
1000 6.218
100000 6.221
1000000 7.273
EOD
$data2 << EOD
1000 45.192
100000 63.898
1000000 70.790
EOD
$data3 << EOD
1000 52.016
100000 92.454
1000000 105.940
EOD
$data4 << EOD
1000 164.949
100000 255.791
1000000 276.423
EOD
$data5 << EOD
1000 91.619
100000 177.134
1000000 178.107
EOD
$data6 << EOD
1000 718.590
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.874
100000 13.019
1000000 46.667
EOD
$data1 << EOD
1000 6.897
100000 58.736
1000000 112.224
EOD
$data2 << EOD
1000 15.991
100000 55.360
1000000 116.693
EOD
$data3 << EOD
1000 24.544
100000 70.895
1000000 174.027
EOD
$data4 << EOD
1000 95.067
100000 379.940
1000000 531.869
EOD
$data5 << EOD
1000 79.602
100000 435.145
1000000 741.445
EOD
$data6 << EOD
1000 738.386
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.215
100000 9.779
1000000 33.530
EOD
$data1 << EOD
1000 4.269
100000 29.964
1000000 58.575
EOD
$data2 << EOD
1000 10.505
100000 36.453
1000000 60.574
EOD
$data3 << EOD
1000 14.641
100000 36.612
1000000 116.340
EOD
$data4 << EOD
1000 75.541
100000 358.840
1000000 479.319
EOD
$data5 << EOD
1000 43.859
100000 359.848
1000000 607.652
EOD
$data6 << EOD
1000 457.184
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 173.021
100000 77.914
1000000 155.276
EOD
$data1 << EOD
1000 463.893
100000 86.687
1000000 37.785
EOD
$data2 << EOD
1000 186.826
100000 139.657
1000000 248.867
EOD
$data3 << EOD
1000 2744.395
100000 240.844
1000000 420.564
EOD
$data4 << EOD
1000 2297.227
100000 816.392
1000000 1633.539
EOD
$data5 << EOD
1000 2012.694
100000 707.899
1000000 1728.180
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 963.834
1000000 273.224
EOD
$data1 << EOD
100000 183.492
1000000 152.944
EOD
$data2 << EOD
100000 139.554
1000000 247.364
EOD
$data3 << EOD
100000 260.642
1000000 427.511
EOD
$data4 << EOD
100000 747.120
1000000 1589.451
EOD
$data5 << EOD
100000 623.752
1000000 1655.066
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.975
100000 14.108
1000000 42.535
EOD
$data1 << EOD
1000 19.964
100000 50.683
1000000 79.430
EOD
$data2 << EOD
1000 21.310
100000 73.805
1000000 140.899
EOD
$data3 << EOD
1000 31.802
100000 92.420
1000000 204.563
EOD
$data4 << EOD
1000 103.563
100000 445.545
1000000 834.087
EOD
$data5 << EOD
1000 81.807
100000 394.858
1000000 778.199
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 203.932
100000 203.812
1000000 204.077
EOD
$data1 << EOD
1000 6.328
100000 6.267
1000000 6.317
EOD
$data2 << EOD
1000 3.548
100000 3.973
1000000 3.958
EOD
$data3 << EOD
1000 46.395
100000 48.801
1000000 50.060
EOD
$data4 << EOD
1000 43.047
100000 45.810
1000000 45.714
EOD
$data5 << EOD
1000 29.190
100000 29.805
1000000 29.409
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 25266.000
1000000 583327.000
EOD
$data1 << EOD
100000 926.000
1000000 2131.000
EOD
$data2 << EOD
100000 1604.000
1000000 27312.000
EOD
$data3 << EOD
100000 15200.000
1000000 32510.000
EOD
$data4 << EOD
100000 20636.000
1000000 85734.000
EOD
$data5 << EOD
100000 18746.000
1000000 79377.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 26370.000
1000000 595834.000
EOD
$data1 << EOD
100000 2417.000
1000000 5015.000
EOD
$data2 << EOD
100000 30072.000
1000000 76923.000
EOD
$data3 << EOD
100000 22804.000
1000000 730816.000
EOD
$data4 << EOD
100000 40581.000
1000000 108752.000
EOD
$data5 << EOD
100000 28185.000
1000000 126214.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.837
100000 93.056
1000000 269.906
EOD
$data1 << EOD
1000 26.345
100000 26.290
1000000 36.111
EOD
$data2 << EOD
1000 53.064
100000 128.608
1000000 246.171
EOD
$data3 << EOD
1000 124.165
100000 184.590
1000000 411.422
EOD
$data4 << EOD
1000 180.602
100000 731.152
1000000 1077.862
EOD
$data5 << EOD
1000 105.479
100000 588.463
1000000 1159.559
EOD
$data6 << EOD
1000 1014.194
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
