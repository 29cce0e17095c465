set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 33.891
10000 19.439
100000 25.439
1000000 238.593
EOD
$data1 << EOD
1000 25.521
10000 32.589
100000 129.821
1000000 273.080
EOD
$data2 << EOD
1000 22.856
10000 23.634
100000 35.976
1000000 46.188
EOD
$data3 << EOD
1000 25.747
10000 27.068
100000 42.642
1000000 241.580
EOD
$data4 << EOD
1000 20.685
10000 24.186
100000 39.120
1000000 265.764
EOD
$data5 << EOD
1000 41.338
10000 20.361
100000 22.478
1000000 243.773
EOD
$data6 << EOD
1000 43.124
10000 59.643
100000 94.513
1000000 261.832
EOD
$data7 << EOD
1000 88.468
10000 147.485
100000 106.700
1000000 296.144
EOD
$data8 << EOD
1000 251.480
10000 195.579
100000 475.860
1000000 615.913
EOD
$data9 << EOD
1000 108.102
10000 227.722
100000 456.425
1000000 584.192
EOD
set output '/tmp/w/benchout/connections.svg'
set title 'connections'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 7.292
10000 7.188
100000 7.419
1000000 9.997
EOD
$data1 << EOD
1000 15.356
10000 15.937
100000 16.517
1000000 21.735
EOD
$data2 << EOD
1000 10.203
10000 10.432
100000 10.605
1000000 13.717
EOD
$data3 << EOD
1000 8.252
10000 8.519
100000 8.522
1000000 11.764
EOD
$data4 << EOD
1000 6.462
10000 6.615
100000 6.825
1000000 11.669
EOD
$data5 << EOD
1000 6.853
10000 6.897
100000 6.985
1000000 9.452
EOD
$data6 << EOD
1000 70.262
10000 90.768
100000 96.272
1000000 118.887
EOD
$data7 << EOD
1000 57.552
10000 83.233
100000 137.796
1000000 131.381
EOD
$data8 << EOD
1000 244.608
10000 278.054
100000 452.130
1000000 546.090
EOD
$data9 << EOD
1000 103.280
10000 151.218
100000 374.470
1000000 427.652
EOD
$data10 << EOD
1000 696.857
EOD
set output '/tmp/w/benchout/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 9.218
10000 9.556
100000 28.430
1000000 246.175
EOD
$data1 << EOD
1000 45.420
10000 36.998
100000 157.025
1000000 271.833
EOD
$data2 << EOD
1000 11.943
10000 11.501
100000 24.518
1000000 76.706
EOD
$data3 << EOD
1000 10.210
10000 11.215
100000 27.290
1000000 215.632
EOD
$data4 << EOD
1000 6.774
10000 8.881
100000 47.053
1000000 260.351
EOD
$data5 << EOD
1000 7.119
10000 7.916
100000 19.906
1000000 237.500
EOD
$data6 << EOD
1000 30.369
10000 26.275
100000 141.991
1000000 318.856
EOD
$data7 << EOD
1000 40.678
10000 33.649
100000 165.361
1000000 266.241
EOD
$data8 << EOD
1000 123.524
10000 195.206
100000 545.563
1000000 657.245
EOD
$data9 << EOD
1000 120.351
10000 112.068
100000 497.491
1000000 652.714
EOD
$data10 << EOD
1000 930.896
EOD
set output '/tmp/w/benchout/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 10.927
10000 7.800
100000 16.452
1000000 230.451
EOD
$data1 << EOD
1000 9.016
10000 10.256
100000 96.312
1000000 266.132
EOD
$data2 << EOD
1000 4.751
10000 5.246
100000 13.321
1000000 37.277
EOD
$data3 << EOD
1000 8.095
10000 9.964
100000 26.486
1000000 227.981
EOD
$data4 << EOD
1000 6.155
10000 7.362
100000 19.816
1000000 236.548
EOD
$data5 << EOD
1000 5.694
10000 7.129
100000 16.412
1000000 232.283
EOD
$data6 << EOD
1000 20.321
10000 17.962
100000 89.525
1000000 262.550
EOD
$data7 << EOD
1000 25.247
10000 22.720
100000 95.247
1000000 286.407
EOD
$data8 << EOD
1000 120.450
10000 124.296
100000 457.988
1000000 653.079
EOD
$data9 << EOD
1000 80.209
10000 75.697
100000 375.058
1000000 606.692
EOD
$data10 << EOD
1000 617.383
EOD
set output '/tmp/w/benchout/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 244.170
10000 63.584
100000 87.964
1000000 166.217
EOD
$data1 << EOD
1000 606.382
10000 235.666
100000 127.299
1000000 149.957
EOD
$data2 << EOD
1000 497.764
10000 223.113
100000 111.767
1000000 96.532
EOD
$data3 << EOD
1000 825.207
10000 143.445
100000 105.411
1000000 242.270
EOD
$data4 << EOD
1000 473.247
10000 178.043
100000 232.301
1000000 657.870
EOD
$data5 << EOD
1000 442.591
10000 81.588
100000 89.813
1000000 147.549
EOD
$data6 << EOD
1000 398.884
10000 202.575
100000 269.386
1000000 501.954
EOD
$data7 << EOD
1000 4905.778
10000 565.070
100000 387.961
1000000 567.085
EOD
$data8 << EOD
1000 5262.948
10000 906.902
100000 1009.477
1000000 1995.812
EOD
$data9 << EOD
1000 3918.274
10000 850.522
100000 740.300
1000000 2179.000
EOD
set output '/tmp/w/benchout/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 19609.885
100000 2001.641
1000000 333.662
EOD
$data1 << EOD
10000 578.908
100000 439.626
1000000 230.527
EOD
$data2 << EOD
10000 550.172
100000 407.082
1000000 167.706
EOD
$data3 << EOD
10000 305.296
100000 180.742
1000000 213.398
EOD
$data4 << EOD
10000 238.984
100000 280.543
1000000 411.548
EOD
$data5 << EOD
10000 26425.621
100000 2838.006
1000000 359.216
EOD
$data6 << EOD
10000 237.899
100000 290.433
1000000 378.618
EOD
$data7 << EOD
10000 1172.899
100000 452.672
1000000 420.893
EOD
$data8 << EOD
10000 1370.795
100000 1225.860
1000000 1669.816
EOD
$data9 << EOD
10000 1180.788
100000 1031.366
1000000 1786.010
EOD
set output '/tmp/w/benchout/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 16.271
10000 13.741
100000 30.539
1000000 183.156
EOD
$data1 << EOD
1000 54.978
10000 66.365
100000 186.929
1000000 322.736
EOD
$data2 << EOD
1000 29.935
10000 35.003
100000 59.933
1000000 98.752
EOD
$data3 << EOD
1000 13.572
10000 14.681
100000 32.211
1000000 187.783
EOD
$data4 << EOD
1000 13.651
10000 20.632
100000 56.090
1000000 268.628
EOD
$data5 << EOD
1000 16.782
10000 18.403
100000 41.887
1000000 185.534
EOD
$data6 << EOD
1000 33.054
10000 55.808
100000 116.971
1000000 390.436
EOD
$data7 << EOD
1000 39.169
10000 62.650
100000 118.601
1000000 327.858
EOD
$data8 << EOD
1000 119.533
10000 218.706
100000 603.995
1000000 1005.068
EOD
$data9 << EOD
1000 100.563
10000 170.751
100000 440.576
1000000 1019.518
EOD
set output '/tmp/w/benchout/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 203.909
10000 203.924
100000 204.007
1000000 203.501
EOD
$data1 << EOD
1000 12.497
10000 12.437
100000 12.730
1000000 12.919
EOD
$data2 << EOD
1000 12.305
10000 12.545
100000 12.673
1000000 13.141
EOD
$data3 << EOD
1000 13.739
10000 13.838
100000 14.099
1000000 14.262
EOD
$data4 << EOD
1000 5.861
10000 5.896
100000 6.014
1000000 6.391
EOD
$data5 << EOD
1000 1590.277
10000 1590.715
100000 1590.775
1000000 1591.209
EOD
$data6 << EOD
1000 6.076
10000 6.531
100000 7.081
1000000 6.658
EOD
$data7 << EOD
1000 61.408
10000 62.858
100000 64.068
1000000 65.330
EOD
$data8 << EOD
1000 56.717
10000 65.300
100000 61.326
1000000 60.684
EOD
$data9 << EOD
1000 40.132
10000 41.632
100000 42.290
1000000 42.454
EOD
set output '/tmp/w/benchout/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1787.000
100000 47824.000
1000000 550756.000
EOD
$data1 << EOD
10000 723.000
100000 1877.000
1000000 4443.000
EOD
$data2 << EOD
10000 945.000
100000 2089.000
1000000 3354.000
EOD
$data3 << EOD
10000 15830.000
100000 516319.000
1000000 6865596.000
EOD
$data4 << EOD
10000 14945.000
100000 884796.000
1000000 12935796.000
EOD
$data5 << EOD
10000 1261.000
100000 41760.000
1000000 506488.000
EOD
$data6 << EOD
10000 695.000
100000 16541.000
1000000 52291.000
EOD
$data7 << EOD
10000 7351.000
100000 21324.000
1000000 74293.000
EOD
$data8 << EOD
10000 7445.000
100000 31767.000
1000000 882821.000
EOD
$data9 << EOD
10000 7090.000
100000 28666.000
1000000 1393680.000
EOD
set output '/tmp/w/benchout/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 2121.000
100000 48460.000
1000000 560462.000
EOD
$data1 << EOD
10000 2221.000
100000 4350.000
1000000 7484.000
EOD
$data2 << EOD
10000 1913.000
100000 3690.000
1000000 6070.000
EOD
$data3 << EOD
10000 17595.000
100000 559876.000
1000000 6970097.000
EOD
$data4 << EOD
10000 41965.000
100000 1328547.000
1000000 15521964.000
EOD
$data5 << EOD
10000 1398.000
100000 43059.000
1000000 514607.000
EOD
$data6 << EOD
10000 24237.000
100000 31134.000
1000000 175341.000
EOD
$data7 << EOD
10000 13695.000
100000 831409.000
1000000 3168861.000
EOD
$data8 << EOD
10000 24541.000
100000 35564.000
1000000 3473356.000
EOD
$data9 << EOD
10000 188275.000
100000 49108.000
1000000 3914919.000
EOD
set output '/tmp/w/benchout/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 21.165
10000 24.211
100000 188.620
1000000 348.347
EOD
$data1 << EOD
1000 54.364
10000 55.494
100000 94.782
1000000 144.773
EOD
$data2 << EOD
1000 47.152
10000 39.764
100000 92.274
1000000 216.741
EOD
$data3 << EOD
1000 44.911
10000 42.107
100000 258.685
1000000 430.731
EOD
$data4 << EOD
1000 23.491
10000 24.905
100000 190.148
1000000 336.656
EOD
$data5 << EOD
1000 27.043
10000 26.482
100000 147.004
1000000 314.930
EOD
$data6 << EOD
1000 81.865
10000 127.561
100000 198.041
1000000 396.113
EOD
$data7 << EOD
1000 149.245
10000 154.463
100000 244.430
1000000 499.131
EOD
$data8 << EOD
1000 223.016
10000 286.279
100000 901.210
1000000 1263.456
EOD
$data9 << EOD
1000 132.610
10000 186.544
100000 735.702
1000000 1273.881
EOD
$data10 << EOD
1000 1212.647
EOD
set output '/tmp/w/benchout/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'timeout.c', $data4 using 1:2 with linespoints lw 2 title 'timer_set', $data5 using 1:2 with linespoints lw 2 title 'ratas', $data6 using 1:2 with linespoints lw 2 title 'heap', $data7 using 1:2 with linespoints lw 2 title 'libev', $data8 using 1:2 with linespoints lw 2 title 'libuv', $data9 using 1:2 with linespoints lw 2 title 'libevent', $data10 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
