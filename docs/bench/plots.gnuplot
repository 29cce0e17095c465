set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.801
100000 4.900
1000000 4.909
EOD
$data1 << EOD
1000 5.872
100000 6.122
1000000 7.055
EOD
$data2 << EOD
1000 4.378
100000 4.491
1000000 5.522
EOD
$data3 << EOD
1000 45.418
100000 64.220
1000000 75.357
EOD
$data4 << EOD
1000 49.912
100000 98.247
1000000 104.847
EOD
$data5 << EOD
1000 164.997
100000 261.916
1000000 282.683
EOD
$data6 << EOD
1000 91.639
100000 171.382
1000000 179.155
EOD
$data7 << EOD
1000 701.126
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.885
100000 12.720
1000000 46.650
EOD
$data1 << EOD
1000 6.527
100000 57.161
1000000 97.638
EOD
$data2 << EOD
1000 4.638
100000 25.094
1000000 52.586
EOD
$data3 << EOD
1000 16.085
100000 57.667
1000000 121.427
EOD
$data4 << EOD
1000 24.672
100000 68.584
1000000 183.582
EOD
$data5 << EOD
1000 84.346
100000 404.323
1000000 530.405
EOD
$data6 << EOD
1000 68.287
100000 428.627
1000000 731.938
EOD
$data7 << EOD
1000 745.166
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.232
100000 9.061
1000000 34.120
EOD
$data1 << EOD
1000 3.866
100000 36.129
1000000 57.469
EOD
$data2 << EOD
1000 2.442
100000 7.300
1000000 23.332
EOD
$data3 << EOD
1000 10.643
100000 34.328
1000000 61.058
EOD
$data4 << EOD
1000 14.542
100000 48.831
1000000 113.019
EOD
$data5 << EOD
1000 75.537
100000 375.747
1000000 456.676
EOD
$data6 << EOD
1000 43.642
100000 380.186
1000000 626.448
EOD
$data7 << EOD
1000 453.584
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 171.575
100000 105.656
1000000 159.601
EOD
$data1 << EOD
1000 458.488
100000 87.559
1000000 38.671
EOD
$data2 << EOD
1000 459.763
100000 95.208
1000000 47.033
EOD
$data3 << EOD
1000 184.718
100000 139.757
1000000 268.409
EOD
$data4 << EOD
1000 2708.440
100000 245.655
1000000 446.152
EOD
$data5 << EOD
1000 2302.717
100000 870.543
1000000 1721.468
EOD
$data6 << EOD
1000 1827.077
100000 793.665
1000000 1853.511
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 980.504
1000000 281.202
EOD
$data1 << EOD
100000 185.996
1000000 155.723
EOD
$data2 << EOD
100000 286.055
1000000 276.811
EOD
$data3 << EOD
100000 143.312
1000000 267.080
EOD
$data4 << EOD
100000 275.171
1000000 467.855
EOD
$data5 << EOD
100000 880.237
1000000 1729.296
EOD
$data6 << EOD
100000 775.416
1000000 1845.202
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 12.015
100000 14.301
1000000 46.927
EOD
$data1 << EOD
1000 21.764
100000 57.360
1000000 89.449
EOD
$data2 << EOD
1000 18.648
100000 42.325
1000000 63.722
EOD
$data3 << EOD
1000 22.433
100000 76.361
1000000 150.509
EOD
$data4 << EOD
1000 31.901
100000 101.037
1000000 233.392
EOD
$data5 << EOD
1000 103.541
100000 482.874
1000000 884.820
EOD
$data6 << EOD
1000 84.754
100000 416.944
1000000 858.040
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 205.978
100000 205.402
1000000 205.376
EOD
$data1 << EOD
1000 6.660
100000 6.739
1000000 6.666
EOD
$data2 << EOD
1000 6.617
100000 6.759
1000000 6.733
EOD
$data3 << EOD
1000 4.158
100000 4.390
1000000 4.796
EOD
$data4 << EOD
1000 47.014
100000 49.627
1000000 48.038
EOD
$data5 << EOD
1000 44.458
100000 47.817
1000000 48.616
EOD
$data6 << EOD
1000 29.746
100000 30.982
1000000 30.525
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 48074.000
1000000 591519.000
EOD
$data1 << EOD
100000 993.000
1000000 2730.000
EOD
$data2 << EOD
100000 967.000
1000000 3116.000
EOD
$data3 << EOD
100000 14109.000
1000000 28408.000
EOD
$data4 << EOD
100000 17930.000
1000000 35121.000
EOD
$data5 << EOD
100000 27456.000
1000000 93778.000
EOD
$data6 << EOD
100000 18542.000
1000000 88807.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 48862.000
1000000 594746.000
EOD
$data1 << EOD
100000 3061.000
1000000 5946.000
EOD
$data2 << EOD
100000 3030.000
1000000 7344.000
EOD
$data3 << EOD
100000 31845.000
1000000 42184.000
EOD
$data4 << EOD
100000 27328.000
1000000 52025.000
EOD
$data5 << EOD
100000 43191.000
1000000 2060167.000
EOD
$data6 << EOD
100000 36479.000
1000000 1507764.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.832
100000 149.861
1000000 271.981
EOD
$data1 << EOD
1000 25.688
100000 25.572
1000000 34.865
EOD
$data2 << EOD
1000 25.314
100000 48.105
1000000 65.724
EOD
$data3 << EOD
1000 53.325
100000 130.295
1000000 265.915
EOD
$data4 << EOD
1000 119.147
100000 197.455
1000000 455.735
EOD
$data5 << EOD
1000 182.184
100000 848.014
1000000 1085.190
EOD
$data6 << EOD
1000 104.132
100000 739.720
1000000 1150.724
EOD
$data7 << EOD
1000 1039.043
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
