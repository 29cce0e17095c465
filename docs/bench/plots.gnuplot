set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.825
100000 4.905
1000000 4.948
EOD
$data1 << EOD
1000 5.898
100000 5.965
1000000 7.722
EOD
$data2 << EOD
1000 4.411
100000 4.121
1000000 4.792
EOD
$data3 << EOD
1000 45.124
100000 64.259
1000000 72.945
EOD
$data4 << EOD
1000 50.506
100000 93.406
1000000 108.022
EOD
$data5 << EOD
1000 167.740
100000 259.886
1000000 308.257
EOD
$data6 << EOD
1000 92.239
100000 176.376
1000000 222.403
EOD
$data7 << EOD
1000 694.277
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.852
100000 12.848
1000000 45.838
EOD
$data1 << EOD
1000 6.555
100000 43.658
1000000 97.912
EOD
$data2 << EOD
1000 4.464
100000 12.878
1000000 41.557
EOD
$data3 << EOD
1000 16.197
100000 67.942
1000000 115.173
EOD
$data4 << EOD
1000 24.892
100000 58.883
1000000 180.104
EOD
$data5 << EOD
1000 84.727
100000 353.955
1000000 559.677
EOD
$data6 << EOD
1000 67.840
100000 406.001
1000000 729.296
EOD
$data7 << EOD
1000 741.347
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.181
100000 9.527
1000000 34.277
EOD
$data1 << EOD
1000 3.923
100000 26.629
1000000 58.504
EOD
$data2 << EOD
1000 3.054
100000 6.866
1000000 23.129
EOD
$data3 << EOD
1000 10.558
100000 25.946
1000000 59.068
EOD
$data4 << EOD
1000 14.505
100000 44.461
1000000 112.962
EOD
$data5 << EOD
1000 76.159
100000 377.862
1000000 471.287
EOD
$data6 << EOD
1000 44.212
100000 436.899
1000000 638.133
EOD
$data7 << EOD
1000 456.358
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 174.660
100000 82.245
1000000 161.010
EOD
$data1 << EOD
1000 236.609
100000 58.998
1000000 36.800
EOD
$data2 << EOD
1000 243.218
100000 61.425
1000000 47.394
EOD
$data3 << EOD
1000 184.002
100000 138.435
1000000 249.041
EOD
$data4 << EOD
1000 2728.094
100000 240.436
1000000 432.210
EOD
$data5 << EOD
1000 2315.604
100000 815.121
1000000 1680.024
EOD
$data6 << EOD
1000 1806.517
100000 697.014
1000000 1848.559
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 981.045
1000000 287.305
EOD
$data1 << EOD
100000 166.442
1000000 116.168
EOD
$data2 << EOD
100000 184.575
1000000 135.347
EOD
$data3 << EOD
100000 142.072
1000000 257.710
EOD
$data4 << EOD
100000 278.941
1000000 439.025
EOD
$data5 << EOD
100000 833.016
1000000 1644.792
EOD
$data6 << EOD
100000 734.053
1000000 1804.636
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.942
100000 14.728
1000000 46.759
EOD
$data1 << EOD
1000 23.195
100000 53.804
1000000 88.360
EOD
$data2 << EOD
1000 11.579
100000 19.382
1000000 34.442
EOD
$data3 << EOD
1000 21.895
100000 78.586
1000000 154.210
EOD
$data4 << EOD
1000 32.035
100000 94.498
1000000 218.283
EOD
$data5 << EOD
1000 103.778
100000 493.102
1000000 879.436
EOD
$data6 << EOD
1000 83.587
100000 372.709
1000000 822.000
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.954
100000 195.989
1000000 196.251
EOD
$data1 << EOD
1000 6.076
100000 6.377
1000000 8.042
EOD
$data2 << EOD
1000 6.002
100000 5.999
1000000 6.004
EOD
$data3 << EOD
1000 4.572
100000 5.477
1000000 5.261
EOD
$data4 << EOD
1000 47.640
100000 49.236
1000000 47.634
EOD
$data5 << EOD
1000 44.843
100000 48.892
1000000 49.457
EOD
$data6 << EOD
1000 30.308
100000 34.156
1000000 32.242
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 36213.000
1000000 601050.000
EOD
$data1 << EOD
100000 856.000
1000000 2336.000
EOD
$data2 << EOD
100000 2704.000
1000000 17367.000
EOD
$data3 << EOD
100000 1526.000
1000000 31553.000
EOD
$data4 << EOD
100000 20464.000
1000000 36130.000
EOD
$data5 << EOD
100000 27380.000
1000000 92266.000
EOD
$data6 << EOD
100000 27699.000
1000000 82549.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 37277.000
1000000 608773.000
EOD
$data1 << EOD
100000 3246.000
1000000 6770.000
EOD
$data2 << EOD
100000 3035.000
1000000 20891.000
EOD
$data3 << EOD
100000 31273.000
1000000 58494.000
EOD
$data4 << EOD
100000 35010.000
1000000 63798.000
EOD
$data5 << EOD
100000 41566.000
1000000 676306.000
EOD
$data6 << EOD
100000 46525.000
1000000 97747.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.778
100000 123.282
1000000 269.005
EOD
$data1 << EOD
1000 25.492
100000 25.211
1000000 38.332
EOD
$data2 << EOD
1000 24.352
100000 55.561
1000000 83.336
EOD
$data3 << EOD
1000 53.401
100000 127.580
1000000 248.205
EOD
$data4 << EOD
1000 116.796
100000 195.850
1000000 440.386
EOD
$data5 << EOD
1000 183.930
100000 803.292
1000000 1076.078
EOD
$data6 << EOD
1000 103.315
100000 699.439
1000000 1197.060
EOD
$data7 << EOD
1000 1023.210
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
