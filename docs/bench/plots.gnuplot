set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 25.200
10000 14.316
100000 11.871
1000000 35.296
EOD
$data1 << EOD
1000 19.149
10000 27.269
100000 27.560
1000000 66.384
EOD
$data2 << EOD
1000 17.612
10000 17.182
100000 13.175
1000000 29.955
EOD
$data3 << EOD
1000 19.477
10000 26.121
100000 27.407
1000000 55.182
EOD
$data4 << EOD
1000 70.669
10000 76.433
100000 47.172
1000000 115.158
EOD
$data5 << EOD
1000 131.851
10000 205.264
100000 312.869
1000000 473.053
EOD
$data6 << EOD
1000 89.868
10000 132.167
100000 324.317
1000000 580.892
EOD
set output 'docs/bench/connections.svg'
set title 'connections'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 4.815
10000 4.862
100000 4.883
1000000 4.979
EOD
$data1 << EOD
1000 8.374
10000 8.424
100000 8.532
1000000 9.549
EOD
$data2 << EOD
1000 5.085
10000 5.157
100000 5.244
1000000 6.171
EOD
$data3 << EOD
1000 45.411
10000 57.749
100000 64.047
1000000 72.872
EOD
$data4 << EOD
1000 51.195
10000 74.495
100000 90.834
1000000 107.402
EOD
$data5 << EOD
1000 167.449
10000 200.382
100000 258.353
1000000 304.107
EOD
$data6 << EOD
1000 91.851
10000 118.962
100000 157.859
1000000 215.453
EOD
$data7 << EOD
1000 688.093
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.845
10000 6.121
100000 12.187
1000000 45.278
EOD
$data1 << EOD
1000 8.819
10000 15.120
100000 50.691
1000000 109.716
EOD
$data2 << EOD
1000 5.347
10000 7.426
100000 14.883
1000000 46.591
EOD
$data3 << EOD
1000 16.005
10000 20.170
100000 45.391
1000000 110.490
EOD
$data4 << EOD
1000 24.739
10000 29.681
100000 53.197
1000000 164.514
EOD
$data5 << EOD
1000 84.399
10000 168.342
100000 320.368
1000000 520.422
EOD
$data6 << EOD
1000 68.017
10000 104.892
100000 310.178
1000000 686.698
EOD
$data7 << EOD
1000 736.510
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.165
10000 5.220
100000 9.564
1000000 32.353
EOD
$data1 << EOD
1000 4.316
10000 8.527
100000 21.163
1000000 59.618
EOD
$data2 << EOD
1000 2.953
10000 4.015
100000 7.587
1000000 25.024
EOD
$data3 << EOD
1000 10.639
10000 13.673
100000 23.593
1000000 56.706
EOD
$data4 << EOD
1000 14.534
10000 17.291
100000 35.318
1000000 106.530
EOD
$data5 << EOD
1000 75.721
10000 124.932
100000 300.288
1000000 457.930
EOD
$data6 << EOD
1000 43.543
10000 86.500
100000 318.921
1000000 599.010
EOD
$data7 << EOD
1000 451.219
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 168.874
10000 43.012
100000 58.698
1000000 156.749
EOD
$data1 << EOD
1000 248.669
10000 101.974
100000 75.288
1000000 84.650
EOD
$data2 << EOD
1000 233.421
10000 87.437
100000 57.926
1000000 53.848
EOD
$data3 << EOD
1000 189.468
10000 112.032
100000 137.310
1000000 237.299
EOD
$data4 << EOD
1000 2724.007
10000 399.513
100000 224.195
1000000 403.346
EOD
$data5 << EOD
1000 2332.495
10000 540.654
100000 707.262
1000000 1603.418
EOD
$data6 << EOD
1000 1829.297
10000 427.577
100000 622.725
1000000 1690.101
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 8167.315
100000 961.495
1000000 273.869
EOD
$data1 << EOD
10000 293.895
100000 220.669
1000000 162.981
EOD
$data2 << EOD
10000 263.819
100000 181.740
1000000 124.744
EOD
$data3 << EOD
10000 123.788
100000 140.918
1000000 237.772
EOD
$data4 << EOD
10000 595.573
100000 259.916
1000000 400.490
EOD
$data5 << EOD
10000 653.021
100000 727.841
1000000 1500.415
EOD
$data6 << EOD
10000 540.922
100000 626.086
1000000 1651.048
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.989
10000 10.166
100000 13.986
1000000 43.409
EOD
$data1 << EOD
1000 30.062
10000 37.790
100000 63.246
1000000 96.733
EOD
$data2 << EOD
1000 21.287
10000 25.563
100000 35.444
1000000 52.882
EOD
$data3 << EOD
1000 21.710
10000 37.969
100000 73.835
1000000 138.911
EOD
$data4 << EOD
1000 32.184
10000 50.776
100000 90.663
1000000 204.072
EOD
$data5 << EOD
1000 105.230
10000 185.893
100000 417.579
1000000 800.290
EOD
$data6 << EOD
1000 81.903
10000 137.590
100000 359.776
1000000 754.190
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.794
10000 196.557
100000 195.767
1000000 196.354
EOD
$data1 << EOD
1000 7.079
10000 7.066
100000 7.070
1000000 7.070
EOD
$data2 << EOD
1000 7.029
10000 7.038
100000 7.132
1000000 7.048
EOD
$data3 << EOD
1000 4.269
10000 4.795
100000 5.224
1000000 4.720
EOD
$data4 << EOD
1000 47.292
10000 48.036
100000 48.008
1000000 47.670
EOD
$data5 << EOD
1000 48.766
10000 46.862
100000 47.627
1000000 48.451
EOD
$data6 << EOD
1000 30.588
10000 30.569
100000 35.811
1000000 33.176
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1263.000
100000 37208.000
1000000 584992.000
EOD
$data1 << EOD
10000 409.000
100000 743.000
1000000 3969.000
EOD
$data2 << EOD
10000 422.000
100000 791.000
1000000 1974.000
EOD
$data3 << EOD
10000 359.000
100000 21171.000
1000000 26365.000
EOD
$data4 << EOD
10000 593.000
100000 22780.000
1000000 35195.000
EOD
$data5 << EOD
10000 1038.000
100000 103774.000
1000000 90490.000
EOD
$data6 << EOD
10000 996.000
100000 24870.000
1000000 73791.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1486.000
100000 38289.000
1000000 590113.000
EOD
$data1 << EOD
10000 1406.000
100000 1721.000
1000000 6720.000
EOD
$data2 << EOD
10000 1324.000
100000 1744.000
1000000 4318.000
EOD
$data3 << EOD
10000 14862.000
100000 141021.000
1000000 46073.000
EOD
$data4 << EOD
10000 15378.000
100000 492375.000
1000000 44761.000
EOD
$data5 << EOD
10000 20894.000
100000 462010.000
1000000 225954.000
EOD
$data6 << EOD
10000 19486.000
100000 50125.000
1000000 92805.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.740
10000 19.233
100000 85.096
1000000 258.479
EOD
$data1 << EOD
1000 43.044
10000 40.348
100000 44.691
1000000 61.178
EOD
$data2 << EOD
1000 28.678
10000 28.355
100000 51.349
1000000 91.981
EOD
$data3 << EOD
1000 51.933
10000 86.806
100000 144.662
1000000 245.269
EOD
$data4 << EOD
1000 123.285
10000 127.739
100000 223.172
1000000 429.092
EOD
$data5 << EOD
1000 184.859
10000 279.872
100000 697.727
1000000 1078.675
EOD
$data6 << EOD
1000 103.515
10000 190.949
100000 597.434
1000000 1109.619
EOD
$data7 << EOD
1000 1028.126
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
