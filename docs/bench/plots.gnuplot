set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 33.996
10000 19.893
100000 90.555
1000000 256.907
EOD
$data1 << EOD
1000 25.618
10000 34.355
100000 166.320
1000000 302.040
EOD
$data2 << EOD
1000 23.439
10000 23.851
100000 71.918
1000000 46.634
EOD
$data3 << EOD
1000 25.575
10000 33.333
100000 85.602
1000000 251.013
EOD
$data4 << EOD
1000 21.066
10000 24.784
100000 126.586
1000000 280.874
EOD
$data5 << EOD
1000 42.226
10000 23.413
100000 71.377
1000000 246.903
EOD
$data6 << EOD
1000 39.495
10000 45.279
100000 131.632
1000000 271.624
EOD
$data7 << EOD
1000 107.182
10000 115.771
100000 107.894
1000000 303.086
EOD
$data8 << EOD
1000 140.920
10000 284.112
100000 564.275
1000000 647.658
EOD
$data9 << EOD
1000 119.656
10000 175.140
100000 648.712
1000000 560.327
EOD
set output 'docs/bench/connections.svg'
set title 'connections'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 7.027
10000 7.258
100000 7.436
1000000 11.528
EOD
$data1 << EOD
1000 15.304
10000 15.622
100000 17.082
1000000 19.676
EOD
$data2 << EOD
1000 10.201
10000 10.244
100000 10.704
1000000 15.193
EOD
$data3 << EOD
1000 8.269
10000 8.375
100000 8.984
1000000 12.946
EOD
$data4 << EOD
1000 6.503
10000 6.598
100000 7.063
1000000 13.722
EOD
$data5 << EOD
1000 6.824
10000 6.856
100000 8.299
1000000 11.053
EOD
$data6 << EOD
1000 69.775
10000 80.803
100000 143.926
1000000 117.732
EOD
$data7 << EOD
1000 58.134
10000 79.168
100000 132.232
1000000 188.874
EOD
$data8 << EOD
1000 195.557
10000 255.129
100000 564.648
1000000 544.908
EOD
$data9 << EOD
1000 105.856
10000 146.974
100000 328.054
1000000 550.766
EOD
$data10 << EOD
1000 669.201
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 8.892
10000 12.173
100000 35.860
1000000 256.147
EOD
$data1 << EOD
1000 34.763
10000 36.678
100000 166.998
1000000 321.157
EOD
$data2 << EOD
1000 10.945
10000 12.894
100000 30.753
1000000 87.570
EOD
$data3 << EOD
1000 16.658
10000 11.065
100000 42.108
1000000 228.069
EOD
$data4 << EOD
1000 10.542
10000 8.652
100000 51.429
1000000 273.237
EOD
$data5 << EOD
1000 11.658
10000 8.039
100000 30.330
1000000 246.350
EOD
$data6 << EOD
1000 23.968
10000 43.239
100000 179.957
1000000 540.591
EOD
$data7 << EOD
1000 43.520
10000 36.049
100000 190.796
1000000 354.853
EOD
$data8 << EOD
1000 143.855
10000 158.269
100000 639.041
1000000 852.206
EOD
$data9 << EOD
1000 153.624
10000 168.889
100000 403.556
1000000 727.876
EOD
$data10 << EOD
1000 797.714
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 10.040
10000 8.122
100000 36.118
1000000 252.336
EOD
$data1 << EOD
1000 13.404
10000 11.553
100000 133.466
1000000 296.986
EOD
$data2 << EOD
1000 4.366
10000 5.307
100000 22.276
1000000 39.344
EOD
$data3 << EOD
1000 8.222
10000 11.373
100000 62.389
1000000 242.210
EOD
$data4 << EOD
1000 6.209
10000 7.737
100000 59.584
1000000 247.879
EOD
$data5 << EOD
1000 5.781
10000 7.103
100000 90.566
1000000 251.164
EOD
$data6 << EOD
1000 27.314
10000 37.065
100000 110.265
1000000 287.219
EOD
$data7 << EOD
1000 31.653
10000 21.020
100000 63.498
1000000 303.107
EOD
$data8 << EOD
1000 137.244
10000 137.184
100000 613.605
1000000 638.507
EOD
$data9 << EOD
1000 90.548
10000 121.567
100000 509.852
1000000 558.601
EOD
$data10 << EOD
1000 437.216
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 394.403
10000 76.620
100000 145.394
1000000 167.042
EOD
$data1 << EOD
1000 701.575
10000 158.547
100000 186.403
1000000 136.099
EOD
$data2 << EOD
1000 801.676
10000 158.178
100000 154.204
1000000 145.652
EOD
$data3 << EOD
1000 1143.314
10000 140.099
100000 179.854
1000000 255.347
EOD
$data4 << EOD
1000 567.276
10000 173.033
100000 406.561
1000000 704.997
EOD
$data5 << EOD
1000 620.135
10000 82.511
100000 132.500
1000000 161.349
EOD
$data6 << EOD
1000 476.044
10000 235.277
100000 231.744
1000000 703.147
EOD
$data7 << EOD
1000 6449.295
10000 893.343
100000 364.443
1000000 655.589
EOD
$data8 << EOD
1000 7201.404
10000 732.952
100000 1404.417
1000000 2926.303
EOD
$data9 << EOD
1000 5895.076
10000 1027.710
100000 1435.236
1000000 2827.959
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 16993.497
100000 1487.639
1000000 379.794
EOD
$data1 << EOD
10000 332.100
100000 378.402
1000000 286.120
EOD
$data2 << EOD
10000 577.751
100000 413.531
1000000 193.667
EOD
$data3 << EOD
10000 207.672
100000 215.983
1000000 240.311
EOD
$data4 << EOD
10000 251.199
100000 364.552
1000000 494.522
EOD
$data5 << EOD
10000 23022.413
100000 2839.460
1000000 512.634
EOD
$data6 << EOD
10000 351.983
100000 344.168
1000000 541.727
EOD
$data7 << EOD
10000 1268.029
100000 679.958
1000000 806.171
EOD
$data8 << EOD
10000 1467.946
100000 1433.652
1000000 2598.690
EOD
$data9 << EOD
10000 1328.645
100000 1654.271
1000000 2741.210
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 24.117
10000 15.142
100000 46.490
1000000 210.684
EOD
$data1 << EOD
1000 80.716
10000 76.367
100000 234.483
1000000 387.480
EOD
$data2 << EOD
1000 44.673
10000 36.957
100000 69.801
1000000 126.378
EOD
$data3 << EOD
1000 21.657
10000 23.010
100000 54.880
1000000 208.848
EOD
$data4 << EOD
1000 20.397
10000 21.555
100000 115.518
1000000 275.523
EOD
$data5 << EOD
1000 23.855
10000 18.735
100000 71.682
1000000 195.826
EOD
$data6 << EOD
1000 49.965
10000 80.020
100000 209.185
1000000 414.213
EOD
$data7 << EOD
1000 60.008
10000 87.490
100000 221.664
1000000 427.175
EOD
$data8 << EOD
1000 138.036
10000 275.289
100000 1065.916
1000000 1361.915
EOD
$data9 << EOD
1000 166.761
10000 214.891
100000 708.761
1000000 1214.986
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 324.448
10000 211.530
100000 312.482
1000000 209.227
EOD
$data1 << EOD
1000 12.313
10000 11.762
100000 12.320
1000000 12.444
EOD
$data2 << EOD
1000 11.953
10000 11.139
100000 11.742
1000000 11.568
EOD
$data3 << EOD
1000 24.966
10000 23.328
100000 21.959
1000000 23.098
EOD
$data4 << EOD
1000 8.687
10000 8.636
100000 9.487
1000000 9.239
EOD
$data5 << EOD
1000 2822.776
10000 1616.567
100000 2617.754
1000000 2417.458
EOD
$data6 << EOD
1000 6.030
10000 9.247
100000 10.565
1000000 11.024
EOD
$data7 << EOD
1000 72.251
10000 100.154
100000 102.345
1000000 100.569
EOD
$data8 << EOD
1000 80.600
10000 105.277
100000 113.920
1000000 121.465
EOD
$data9 << EOD
1000 83.940
10000 78.949
100000 76.756
1000000 86.042
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 4977.000
100000 62435.000
1000000 643235.000
EOD
$data1 << EOD
10000 2191.000
100000 3180.000
1000000 5877.000
EOD
$data2 << EOD
10000 3107.000
100000 2712.000
1000000 4719.000
EOD
$data3 << EOD
10000 49531.000
100000 716270.000
1000000 8415690.000
EOD
$data4 << EOD
10000 17898.000
100000 1408913.000
1000000 16418227.000
EOD
$data5 << EOD
10000 4732.000
100000 54204.000
1000000 643423.000
EOD
$data6 << EOD
10000 14112.000
100000 76676.000
1000000 700007.000
EOD
$data7 << EOD
10000 22324.000
100000 72953.000
1000000 156756.000
EOD
$data8 << EOD
10000 17686.000
100000 116293.000
1000000 707245.000
EOD
$data9 << EOD
10000 18299.000
100000 112281.000
1000000 2005415.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 5456.000
100000 68708.000
1000000 667833.000
EOD
$data1 << EOD
10000 2902.000
100000 5657.000
1000000 8326.000
EOD
$data2 << EOD
10000 3221.000
100000 4816.000
1000000 9334.000
EOD
$data3 << EOD
10000 61520.000
100000 776970.000
1000000 9101871.000
EOD
$data4 << EOD
10000 101708.000
100000 1814755.000
1000000 19437467.000
EOD
$data5 << EOD
10000 5054.000
100000 58412.000
1000000 671788.000
EOD
$data6 << EOD
10000 147303.000
100000 1711536.000
1000000 1406783.000
EOD
$data7 << EOD
10000 103576.000
100000 252139.000
1000000 2569648.000
EOD
$data8 << EOD
10000 92708.000
100000 3867955.000
1000000 2413958.000
EOD
$data9 << EOD
10000 1190142.000
100000 347378.000
1000000 3843553.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 30.451
10000 31.237
100000 287.419
1000000 447.304
EOD
$data1 << EOD
1000 89.955
10000 106.592
100000 164.122
1000000 199.554
EOD
$data2 << EOD
1000 79.294
10000 69.941
100000 283.819
1000000 300.489
EOD
$data3 << EOD
1000 56.278
10000 51.289
100000 522.968
1000000 551.657
EOD
$data4 << EOD
1000 31.084
10000 32.552
100000 290.385
1000000 421.802
EOD
$data5 << EOD
1000 38.482
10000 35.142
100000 355.784
1000000 387.671
EOD
$data6 << EOD
1000 142.043
10000 172.483
100000 361.523
1000000 752.827
EOD
$data7 << EOD
1000 273.834
10000 195.599
100000 548.762
1000000 1082.006
EOD
$data8 << EOD
1000 396.666
10000 447.274
100000 1696.909
1000000 1871.231
EOD
$data9 << EOD
1000 254.244
10000 347.212
100000 1769.642
1000000 2059.822
EOD
$data10 << EOD
1000 1588.931
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
