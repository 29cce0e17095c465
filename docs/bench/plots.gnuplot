set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.822
100000 4.912
1000000 5.038
EOD
$data1 << EOD
1000 5.910
100000 5.989
1000000 7.713
EOD
$data2 << EOD
1000 4.406
100000 4.153
1000000 4.958
EOD
$data3 << EOD
1000 45.312
100000 64.339
1000000 73.200
EOD
$data4 << EOD
1000 50.215
100000 93.033
1000000 107.559
EOD
$data5 << EOD
1000 167.638
100000 262.066
1000000 306.677
EOD
$data6 << EOD
1000 92.259
100000 173.123
1000000 219.799
EOD
$data7 << EOD
1000 701.877
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.845
100000 12.637
1000000 47.361
EOD
$data1 << EOD
1000 6.561
100000 54.093
1000000 97.256
EOD
$data2 << EOD
1000 4.466
100000 16.474
1000000 41.301
EOD
$data3 << EOD
1000 16.031
100000 55.535
1000000 122.466
EOD
$data4 << EOD
1000 24.828
100000 62.631
1000000 179.004
EOD
$data5 << EOD
1000 84.530
100000 387.692
1000000 542.169
EOD
$data6 << EOD
1000 67.848
100000 444.825
1000000 727.345
EOD
$data7 << EOD
1000 773.753
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.148
100000 9.527
1000000 33.782
EOD
$data1 << EOD
1000 3.913
100000 35.349
1000000 57.424
EOD
$data2 << EOD
1000 3.053
100000 7.381
1000000 23.362
EOD
$data3 << EOD
1000 10.769
100000 28.459
1000000 58.214
EOD
$data4 << EOD
1000 14.485
100000 37.699
1000000 116.690
EOD
$data5 << EOD
1000 76.201
100000 378.585
1000000 464.130
EOD
$data6 << EOD
1000 44.365
100000 415.276
1000000 637.360
EOD
$data7 << EOD
1000 460.069
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 169.410
100000 66.891
1000000 156.270
EOD
$data1 << EOD
1000 239.050
100000 58.219
1000000 37.725
EOD
$data2 << EOD
1000 245.048
100000 61.921
1000000 48.090
EOD
$data3 << EOD
1000 196.941
100000 143.277
1000000 246.926
EOD
$data4 << EOD
1000 2753.952
100000 241.398
1000000 451.300
EOD
$data5 << EOD
1000 2321.561
100000 804.598
1000000 1617.258
EOD
$data6 << EOD
1000 1841.558
100000 812.632
1000000 1854.125
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 969.529
1000000 286.087
EOD
$data1 << EOD
100000 166.205
1000000 112.812
EOD
$data2 << EOD
100000 182.601
1000000 133.815
EOD
$data3 << EOD
100000 142.761
1000000 245.396
EOD
$data4 << EOD
100000 266.746
1000000 428.203
EOD
$data5 << EOD
100000 784.706
1000000 1581.511
EOD
$data6 << EOD
100000 659.358
1000000 1746.359
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.960
100000 14.282
1000000 45.868
EOD
$data1 << EOD
1000 23.124
100000 55.111
1000000 87.528
EOD
$data2 << EOD
1000 11.700
100000 19.327
1000000 36.155
EOD
$data3 << EOD
1000 21.957
100000 72.502
1000000 149.039
EOD
$data4 << EOD
1000 32.241
100000 99.119
1000000 235.811
EOD
$data5 << EOD
1000 104.692
100000 439.181
1000000 875.736
EOD
$data6 << EOD
1000 82.873
100000 374.419
1000000 865.219
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.856
100000 196.271
1000000 195.687
EOD
$data1 << EOD
1000 5.848
100000 5.855
1000000 5.784
EOD
$data2 << EOD
1000 5.794
100000 5.784
1000000 5.864
EOD
$data3 << EOD
1000 4.233
100000 5.329
1000000 4.939
EOD
$data4 << EOD
1000 50.614
100000 48.317
1000000 48.281
EOD
$data5 << EOD
1000 44.698
100000 48.235
1000000 51.116
EOD
$data6 << EOD
1000 30.387
100000 31.069
1000000 30.572
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 35094.000
1000000 588183.000
EOD
$data1 << EOD
100000 1175.000
1000000 6541.000
EOD
$data2 << EOD
100000 2455.000
1000000 16693.000
EOD
$data3 << EOD
100000 1824.000
1000000 28010.000
EOD
$data4 << EOD
100000 11982.000
1000000 30054.000
EOD
$data5 << EOD
100000 25460.000
1000000 87458.000
EOD
$data6 << EOD
100000 20919.000
1000000 73805.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 36038.000
1000000 596405.000
EOD
$data1 << EOD
100000 3180.000
1000000 6800.000
EOD
$data2 << EOD
100000 3053.000
1000000 17281.000
EOD
$data3 << EOD
100000 31204.000
1000000 42716.000
EOD
$data4 << EOD
100000 25055.000
1000000 42220.000
EOD
$data5 << EOD
100000 44285.000
1000000 96266.000
EOD
$data6 << EOD
100000 25723.000
1000000 80039.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.839
100000 84.574
1000000 268.725
EOD
$data1 << EOD
1000 24.288
100000 25.948
1000000 37.366
EOD
$data2 << EOD
1000 24.264
100000 52.691
1000000 81.073
EOD
$data3 << EOD
1000 53.730
100000 130.499
1000000 247.555
EOD
$data4 << EOD
1000 118.887
100000 195.977
1000000 444.876
EOD
$data5 << EOD
1000 184.447
100000 799.365
1000000 1080.448
EOD
$data6 << EOD
1000 104.132
100000 830.911
1000000 1161.199
EOD
$data7 << EOD
1000 986.162
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
