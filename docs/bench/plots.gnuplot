set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 25.646
10000 14.531
100000 12.310
1000000 37.470
EOD
$data1 << EOD
1000 18.914
10000 27.156
100000 48.200
1000000 71.527
EOD
$data2 << EOD
1000 17.415
10000 17.848
100000 15.420
1000000 31.585
EOD
$data3 << EOD
1000 19.694
10000 25.173
100000 36.470
1000000 65.930
EOD
$data4 << EOD
1000 71.374
10000 77.800
100000 48.408
1000000 124.376
EOD
$data5 << EOD
1000 132.139
10000 192.798
100000 382.376
1000000 479.349
EOD
$data6 << EOD
1000 88.676
10000 137.439
100000 401.757
1000000 667.038
EOD
set output 'docs/bench/connections.svg'
set title 'connections'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 4.816
10000 4.870
100000 4.902
1000000 4.928
EOD
$data1 << EOD
1000 8.442
10000 8.475
100000 8.592
1000000 9.424
EOD
$data2 << EOD
1000 5.281
10000 5.439
100000 5.531
1000000 6.400
EOD
$data3 << EOD
1000 45.707
10000 57.714
100000 64.157
1000000 72.895
EOD
$data4 << EOD
1000 51.729
10000 74.429
100000 91.197
1000000 107.498
EOD
$data5 << EOD
1000 166.850
10000 200.692
100000 255.989
1000000 307.926
EOD
$data6 << EOD
1000 91.948
10000 119.798
100000 161.205
1000000 215.908
EOD
$data7 << EOD
1000 700.404
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.847
10000 6.837
100000 12.318
1000000 45.990
EOD
$data1 << EOD
1000 8.937
10000 15.843
100000 66.678
1000000 117.385
EOD
$data2 << EOD
1000 5.562
10000 7.443
100000 17.169
1000000 47.824
EOD
$data3 << EOD
1000 15.976
10000 21.172
100000 54.047
1000000 121.634
EOD
$data4 << EOD
1000 24.749
10000 30.504
100000 57.441
1000000 174.028
EOD
$data5 << EOD
1000 84.713
10000 167.866
100000 378.986
1000000 528.322
EOD
$data6 << EOD
1000 68.072
10000 106.290
100000 394.885
1000000 719.338
EOD
$data7 << EOD
1000 745.537
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.153
10000 5.206
100000 9.127
1000000 32.749
EOD
$data1 << EOD
1000 4.480
10000 8.738
100000 26.544
1000000 61.951
EOD
$data2 << EOD
1000 3.118
10000 4.055
100000 7.539
1000000 25.544
EOD
$data3 << EOD
1000 10.778
10000 13.842
100000 25.363
1000000 59.026
EOD
$data4 << EOD
1000 14.585
10000 19.040
100000 35.086
1000000 109.834
EOD
$data5 << EOD
1000 75.721
10000 144.074
100000 342.275
1000000 464.340
EOD
$data6 << EOD
1000 43.422
10000 83.352
100000 352.711
1000000 614.014
EOD
$data7 << EOD
1000 452.607
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 172.751
10000 43.248
100000 73.054
1000000 157.980
EOD
$data1 << EOD
1000 261.449
10000 100.878
100000 76.712
1000000 93.164
EOD
$data2 << EOD
1000 246.016
10000 87.686
100000 60.483
1000000 58.822
EOD
$data3 << EOD
1000 184.776
10000 111.959
100000 138.390
1000000 236.156
EOD
$data4 << EOD
1000 2716.559
10000 399.775
100000 228.723
1000000 413.586
EOD
$data5 << EOD
1000 2333.201
10000 535.807
100000 714.250
1000000 1615.256
EOD
$data6 << EOD
1000 1854.670
10000 420.782
100000 635.660
1000000 1785.206
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 8167.416
100000 962.569
1000000 277.066
EOD
$data1 << EOD
10000 290.954
100000 222.242
1000000 174.972
EOD
$data2 << EOD
10000 264.406
100000 185.962
1000000 131.743
EOD
$data3 << EOD
10000 122.470
100000 141.001
1000000 242.318
EOD
$data4 << EOD
10000 595.138
100000 253.281
1000000 416.792
EOD
$data5 << EOD
10000 651.014
100000 704.417
1000000 1633.366
EOD
$data6 << EOD
10000 530.076
100000 641.066
1000000 1763.275
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 12.000
10000 10.332
100000 14.355
1000000 46.233
EOD
$data1 << EOD
1000 30.188
10000 37.796
100000 68.810
1000000 107.149
EOD
$data2 << EOD
1000 21.970
10000 26.638
100000 38.399
1000000 55.780
EOD
$data3 << EOD
1000 21.588
10000 38.456
100000 75.615
1000000 149.395
EOD
$data4 << EOD
1000 31.774
10000 51.715
100000 95.648
1000000 217.403
EOD
$data5 << EOD
1000 104.971
10000 183.283
100000 569.821
1000000 849.468
EOD
$data6 << EOD
1000 82.667
10000 142.668
100000 384.991
1000000 795.100
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.981
10000 196.016
100000 195.806
1000000 196.298
EOD
$data1 << EOD
1000 7.483
10000 7.633
100000 7.501
1000000 7.453
EOD
$data2 << EOD
1000 7.498
10000 7.511
100000 7.436
1000000 7.480
EOD
$data3 << EOD
1000 4.773
10000 5.009
100000 5.410
1000000 5.416
EOD
$data4 << EOD
1000 47.511
10000 47.600
100000 50.377
1000000 48.426
EOD
$data5 << EOD
1000 45.278
10000 46.402
100000 48.286
1000000 49.569
EOD
$data6 << EOD
1000 31.508
10000 31.101
100000 30.891
1000000 31.775
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1127.000
100000 40883.000
1000000 592517.000
EOD
$data1 << EOD
10000 610.000
100000 1295.000
1000000 5582.000
EOD
$data2 << EOD
10000 643.000
100000 1590.000
1000000 3000.000
EOD
$data3 << EOD
10000 369.000
100000 17328.000
1000000 60423.000
EOD
$data4 << EOD
10000 1007.000
100000 27039.000
1000000 69837.000
EOD
$data5 << EOD
10000 1307.000
100000 35017.000
1000000 109756.000
EOD
$data6 << EOD
10000 1754.000
100000 36236.000
1000000 956225.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1267.000
100000 42823.000
1000000 597402.000
EOD
$data1 << EOD
10000 1201.000
100000 2212.000
1000000 7801.000
EOD
$data2 << EOD
10000 1245.000
100000 2303.000
1000000 5433.000
EOD
$data3 << EOD
10000 413.000
100000 45936.000
1000000 1567247.000
EOD
$data4 << EOD
10000 36773.000
100000 39027.000
1000000 1550080.000
EOD
$data5 << EOD
10000 49490.000
100000 1505782.000
1000000 1602491.000
EOD
$data6 << EOD
10000 49512.000
100000 65761.000
1000000 4090008.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 15.019
10000 20.231
100000 117.990
1000000 267.139
EOD
$data1 << EOD
1000 42.650
10000 38.612
100000 44.854
1000000 62.104
EOD
$data2 << EOD
1000 30.541
10000 28.539
100000 48.537
1000000 93.905
EOD
$data3 << EOD
1000 52.944
10000 87.122
100000 130.221
1000000 238.108
EOD
$data4 << EOD
1000 121.868
10000 127.347
100000 197.209
1000000 405.309
EOD
$data5 << EOD
1000 184.166
10000 280.141
100000 671.103
1000000 1072.137
EOD
$data6 << EOD
1000 104.958
10000 191.402
100000 556.525
1000000 1148.794
EOD
$data7 << EOD
1000 1307.791
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
