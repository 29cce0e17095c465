set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.809
100000 4.954
1000000 4.993
EOD
$data1 << EOD
1000 5.915
100000 6.350
1000000 8.057
EOD
$data2 << EOD
1000 4.360
100000 4.643
1000000 6.853
EOD
$data3 << EOD
1000 44.814
100000 64.481
1000000 73.295
EOD
$data4 << EOD
1000 50.739
100000 91.756
1000000 107.878
EOD
$data5 << EOD
1000 166.434
100000 261.503
1000000 307.312
EOD
$data6 << EOD
1000 92.174
100000 171.961
1000000 216.796
EOD
$data7 << EOD
1000 694.949
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.841
100000 13.032
1000000 46.148
EOD
$data1 << EOD
1000 6.523
100000 58.431
1000000 96.859
EOD
$data2 << EOD
1000 4.620
100000 30.129
1000000 53.576
EOD
$data3 << EOD
1000 15.949
100000 60.409
1000000 123.347
EOD
$data4 << EOD
1000 25.137
100000 72.856
1000000 180.728
EOD
$data5 << EOD
1000 84.870
100000 401.683
1000000 542.527
EOD
$data6 << EOD
1000 67.721
100000 486.374
1000000 762.368
EOD
$data7 << EOD
1000 745.280
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.150
100000 9.531
1000000 34.343
EOD
$data1 << EOD
1000 3.892
100000 39.240
1000000 57.133
EOD
$data2 << EOD
1000 2.416
100000 8.273
1000000 23.483
EOD
$data3 << EOD
1000 10.702
100000 38.569
1000000 62.872
EOD
$data4 << EOD
1000 14.583
100000 53.823
1000000 111.221
EOD
$data5 << EOD
1000 75.859
100000 389.400
1000000 474.193
EOD
$data6 << EOD
1000 43.375
100000 376.902
1000000 640.806
EOD
$data7 << EOD
1000 454.722
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 184.933
100000 104.190
1000000 160.680
EOD
$data1 << EOD
1000 464.640
100000 87.223
1000000 38.870
EOD
$data2 << EOD
1000 463.933
100000 94.752
1000000 47.649
EOD
$data3 << EOD
1000 185.923
100000 140.095
1000000 263.717
EOD
$data4 << EOD
1000 2704.923
100000 252.335
1000000 454.303
EOD
$data5 << EOD
1000 2311.311
100000 878.636
1000000 1687.847
EOD
$data6 << EOD
1000 1834.824
100000 775.379
1000000 1934.357
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 987.641
1000000 284.034
EOD
$data1 << EOD
100000 186.308
1000000 156.527
EOD
$data2 << EOD
100000 287.058
1000000 281.335
EOD
$data3 << EOD
100000 141.654
1000000 267.317
EOD
$data4 << EOD
100000 282.868
1000000 455.607
EOD
$data5 << EOD
100000 905.142
1000000 1681.929
EOD
$data6 << EOD
100000 819.268
1000000 1865.462
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.937
100000 14.594
1000000 47.900
EOD
$data1 << EOD
1000 21.920
100000 59.500
1000000 89.774
EOD
$data2 << EOD
1000 18.840
100000 43.924
1000000 64.530
EOD
$data3 << EOD
1000 21.782
100000 78.543
1000000 149.417
EOD
$data4 << EOD
1000 32.845
100000 101.431
1000000 223.612
EOD
$data5 << EOD
1000 104.503
100000 496.042
1000000 880.584
EOD
$data6 << EOD
1000 82.501
100000 419.789
1000000 877.380
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.706
100000 195.697
1000000 196.255
EOD
$data1 << EOD
1000 6.647
100000 6.691
1000000 6.740
EOD
$data2 << EOD
1000 6.747
100000 6.642
1000000 6.743
EOD
$data3 << EOD
1000 4.241
100000 4.624
1000000 5.055
EOD
$data4 << EOD
1000 47.574
100000 48.195
1000000 48.591
EOD
$data5 << EOD
1000 50.593
100000 47.552
1000000 47.936
EOD
$data6 << EOD
1000 30.540
100000 30.753
1000000 31.608
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 49889.000
1000000 604694.000
EOD
$data1 << EOD
100000 940.000
1000000 2874.000
EOD
$data2 << EOD
100000 928.000
1000000 3310.000
EOD
$data3 << EOD
100000 2806.000
1000000 33326.000
EOD
$data4 << EOD
100000 16397.000
1000000 36042.000
EOD
$data5 << EOD
100000 33045.000
1000000 94965.000
EOD
$data6 << EOD
100000 22532.000
1000000 92799.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 50805.000
1000000 611273.000
EOD
$data1 << EOD
100000 3346.000
1000000 5832.000
EOD
$data2 << EOD
100000 2999.000
1000000 7535.000
EOD
$data3 << EOD
100000 36136.000
1000000 53008.000
EOD
$data4 << EOD
100000 30870.000
1000000 47181.000
EOD
$data5 << EOD
100000 55678.000
1000000 709412.000
EOD
$data6 << EOD
100000 26788.000
1000000 691329.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 15.028
100000 186.260
1000000 278.618
EOD
$data1 << EOD
1000 25.690
100000 25.405
1000000 37.224
EOD
$data2 << EOD
1000 25.305
100000 51.439
1000000 69.427
EOD
$data3 << EOD
1000 54.082
100000 140.514
1000000 263.742
EOD
$data4 << EOD
1000 118.096
100000 247.565
1000000 452.919
EOD
$data5 << EOD
1000 183.167
100000 870.379
1000000 1093.917
EOD
$data6 << EOD
1000 103.522
100000 786.761
1000000 1198.706
EOD
$data7 << EOD
1000 1015.228
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
