set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 25.208
10000 14.645
100000 12.622
1000000 36.527
EOD
$data1 << EOD
1000 18.312
10000 27.652
100000 35.402
1000000 70.836
EOD
$data2 << EOD
1000 16.189
10000 18.107
100000 14.494
1000000 30.611
EOD
$data3 << EOD
1000 19.414
10000 27.519
100000 28.796
1000000 60.219
EOD
$data4 << EOD
1000 72.003
10000 77.382
100000 46.617
1000000 122.920
EOD
$data5 << EOD
1000 133.224
10000 202.925
100000 314.306
1000000 470.356
EOD
$data6 << EOD
1000 88.388
10000 138.658
100000 347.099
1000000 609.609
EOD
set output 'docs/bench/connections.svg'
set title 'connections'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 4.823
10000 4.877
100000 4.889
1000000 5.015
EOD
$data1 << EOD
1000 8.089
10000 8.156
100000 8.243
1000000 9.121
EOD
$data2 << EOD
1000 5.416
10000 5.481
100000 5.587
1000000 6.424
EOD
$data3 << EOD
1000 45.475
10000 57.644
100000 64.047
1000000 75.681
EOD
$data4 << EOD
1000 51.755
10000 76.312
100000 91.207
1000000 108.030
EOD
$data5 << EOD
1000 170.472
10000 201.014
100000 253.179
1000000 308.054
EOD
$data6 << EOD
1000 92.103
10000 119.964
100000 160.969
1000000 217.903
EOD
$data7 << EOD
1000 702.908
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.844
10000 6.298
100000 12.273
1000000 44.353
EOD
$data1 << EOD
1000 8.585
10000 15.329
100000 38.833
1000000 109.587
EOD
$data2 << EOD
1000 5.686
10000 7.529
100000 15.950
1000000 47.184
EOD
$data3 << EOD
1000 16.163
10000 20.738
100000 37.901
1000000 110.081
EOD
$data4 << EOD
1000 24.937
10000 30.317
100000 52.434
1000000 160.203
EOD
$data5 << EOD
1000 85.186
10000 129.724
100000 255.675
1000000 504.661
EOD
$data6 << EOD
1000 79.763
10000 108.971
100000 313.884
1000000 686.013
EOD
$data7 << EOD
1000 747.907
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.166
10000 5.469
100000 9.136
1000000 31.768
EOD
$data1 << EOD
1000 4.479
10000 8.851
100000 19.407
1000000 61.891
EOD
$data2 << EOD
1000 3.186
10000 4.411
100000 7.318
1000000 24.881
EOD
$data3 << EOD
1000 10.765
10000 13.672
100000 23.001
1000000 53.920
EOD
$data4 << EOD
1000 14.427
10000 18.379
100000 33.235
1000000 103.341
EOD
$data5 << EOD
1000 75.836
10000 120.928
100000 280.796
1000000 451.817
EOD
$data6 << EOD
1000 43.843
10000 83.130
100000 292.254
1000000 568.493
EOD
$data7 << EOD
1000 453.977
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 169.460
10000 43.664
100000 64.018
1000000 154.386
EOD
$data1 << EOD
1000 264.293
10000 106.227
100000 79.997
1000000 90.257
EOD
$data2 << EOD
1000 246.818
10000 93.122
100000 63.319
1000000 57.290
EOD
$data3 << EOD
1000 185.690
10000 112.265
100000 136.876
1000000 224.169
EOD
$data4 << EOD
1000 2716.456
10000 398.431
100000 219.046
1000000 389.655
EOD
$data5 << EOD
1000 2325.096
10000 528.077
100000 647.197
1000000 1526.349
EOD
$data6 << EOD
1000 1839.119
10000 419.515
100000 540.289
1000000 1672.366
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 8165.333
100000 955.496
1000000 275.668
EOD
$data1 << EOD
10000 265.880
100000 210.260
1000000 168.263
EOD
$data2 << EOD
10000 237.249
100000 173.044
1000000 128.908
EOD
$data3 << EOD
10000 120.986
100000 141.282
1000000 227.204
EOD
$data4 << EOD
10000 595.733
100000 243.555
1000000 384.189
EOD
$data5 << EOD
10000 653.519
100000 667.902
1000000 1448.689
EOD
$data6 << EOD
10000 521.512
100000 551.368
1000000 1593.000
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.955
10000 9.915
100000 13.976
1000000 42.484
EOD
$data1 << EOD
1000 31.158
10000 38.590
100000 61.134
1000000 105.964
EOD
$data2 << EOD
1000 22.756
10000 26.905
100000 34.499
1000000 56.419
EOD
$data3 << EOD
1000 21.816
10000 38.073
100000 69.474
1000000 139.300
EOD
$data4 << EOD
1000 32.009
10000 53.254
100000 87.123
1000000 204.211
EOD
$data5 << EOD
1000 104.436
10000 180.092
100000 373.458
1000000 791.668
EOD
$data6 << EOD
1000 82.039
10000 138.374
100000 307.127
1000000 770.048
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.983
10000 195.575
100000 195.913
1000000 196.421
EOD
$data1 << EOD
1000 7.306
10000 7.347
100000 7.248
1000000 7.285
EOD
$data2 << EOD
1000 7.336
10000 7.323
100000 7.221
1000000 7.239
EOD
$data3 << EOD
1000 4.339
10000 4.794
100000 5.650
1000000 4.861
EOD
$data4 << EOD
1000 47.822
10000 51.351
100000 48.971
1000000 49.878
EOD
$data5 << EOD
1000 44.689
10000 45.278
100000 48.245
1000000 48.599
EOD
$data6 << EOD
1000 30.501
10000 31.240
100000 31.935
1000000 31.492
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1175.000
100000 28768.000
1000000 584500.000
EOD
$data1 << EOD
10000 639.000
100000 1067.000
1000000 5462.000
EOD
$data2 << EOD
10000 679.000
100000 1314.000
1000000 3118.000
EOD
$data3 << EOD
10000 1034.000
100000 2095.000
1000000 24593.000
EOD
$data4 << EOD
10000 611.000
100000 15642.000
1000000 26426.000
EOD
$data5 << EOD
10000 1061.000
100000 22694.000
1000000 84057.000
EOD
$data6 << EOD
10000 935.000
100000 15592.000
1000000 72065.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1499.000
100000 30509.000
1000000 592452.000
EOD
$data1 << EOD
10000 1256.000
100000 2249.000
1000000 8536.000
EOD
$data2 << EOD
10000 1035.000
100000 1812.000
1000000 5290.000
EOD
$data3 << EOD
10000 22140.000
100000 26971.000
1000000 979691.000
EOD
$data4 << EOD
10000 18436.000
100000 37998.000
1000000 43536.000
EOD
$data5 << EOD
10000 20464.000
100000 36778.000
1000000 945518.000
EOD
$data6 << EOD
10000 1549.000
100000 19909.000
1000000 85164.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.827
10000 18.074
100000 81.833
1000000 262.402
EOD
$data1 << EOD
1000 42.944
10000 39.907
100000 45.689
1000000 63.115
EOD
$data2 << EOD
1000 30.430
10000 29.157
100000 49.043
1000000 94.299
EOD
$data3 << EOD
1000 49.125
10000 86.429
100000 128.333
1000000 230.685
EOD
$data4 << EOD
1000 121.911
10000 126.759
100000 189.484
1000000 414.232
EOD
$data5 << EOD
1000 184.086
10000 275.861
100000 826.660
1000000 1058.080
EOD
$data6 << EOD
1000 104.192
10000 185.737
100000 536.655
1000000 1152.565
EOD
$data7 << EOD
1000 971.213
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
