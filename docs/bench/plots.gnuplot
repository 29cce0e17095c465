set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 25.281
10000 14.363
100000 13.007
1000000 36.629
EOD
$data1 << EOD
1000 18.529
10000 27.260
100000 37.336
1000000 67.969
EOD
$data2 << EOD
1000 16.430
10000 17.119
100000 14.771
1000000 31.017
EOD
$data3 << EOD
1000 19.522
10000 26.991
100000 41.367
1000000 60.441
EOD
$data4 << EOD
1000 70.925
10000 80.563
100000 59.449
1000000 123.289
EOD
$data5 << EOD
1000 133.084
10000 201.445
100000 371.956
1000000 473.907
EOD
$data6 << EOD
1000 89.298
10000 139.178
100000 412.125
1000000 649.223
EOD
set output 'docs/bench/connections.svg'
set title 'connections'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 4.813
10000 4.860
100000 4.884
1000000 4.939
EOD
$data1 << EOD
1000 8.049
10000 8.098
100000 8.206
1000000 9.074
EOD
$data2 << EOD
1000 5.216
10000 5.298
100000 5.411
1000000 6.159
EOD
$data3 << EOD
1000 46.239
10000 58.058
100000 64.202
1000000 73.114
EOD
$data4 << EOD
1000 51.773
10000 74.935
100000 90.882
1000000 107.982
EOD
$data5 << EOD
1000 167.321
10000 200.468
100000 257.836
1000000 306.090
EOD
$data6 << EOD
1000 92.229
10000 120.399
100000 162.365
1000000 215.352
EOD
$data7 << EOD
1000 707.894
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.853
10000 6.320
100000 12.799
1000000 45.080
EOD
$data1 << EOD
1000 8.368
10000 14.436
100000 47.632
1000000 110.692
EOD
$data2 << EOD
1000 5.338
10000 7.084
100000 14.754
1000000 46.134
EOD
$data3 << EOD
1000 16.067
10000 21.563
100000 42.725
1000000 118.057
EOD
$data4 << EOD
1000 24.883
10000 29.842
100000 71.962
1000000 162.154
EOD
$data5 << EOD
1000 84.483
10000 130.982
100000 323.422
1000000 522.393
EOD
$data6 << EOD
1000 67.877
10000 124.249
100000 333.416
1000000 716.656
EOD
$data7 << EOD
1000 746.615
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.179
10000 5.277
100000 9.367
1000000 32.121
EOD
$data1 << EOD
1000 4.486
10000 8.451
100000 22.109
1000000 60.534
EOD
$data2 << EOD
1000 3.185
10000 4.299
100000 7.532
1000000 25.009
EOD
$data3 << EOD
1000 10.871
10000 13.811
100000 23.162
1000000 60.343
EOD
$data4 << EOD
1000 14.472
10000 17.701
100000 34.033
1000000 105.582
EOD
$data5 << EOD
1000 76.336
10000 122.786
100000 301.848
1000000 455.265
EOD
$data6 << EOD
1000 43.581
10000 84.069
100000 303.963
1000000 620.765
EOD
$data7 << EOD
1000 463.659
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 168.339
10000 43.623
100000 64.889
1000000 155.757
EOD
$data1 << EOD
1000 264.702
10000 109.313
100000 80.186
1000000 72.737
EOD
$data2 << EOD
1000 250.092
10000 96.201
100000 64.619
1000000 54.001
EOD
$data3 << EOD
1000 184.884
10000 111.522
100000 138.056
1000000 239.915
EOD
$data4 << EOD
1000 2731.187
10000 399.013
100000 234.048
1000000 405.642
EOD
$data5 << EOD
1000 2320.860
10000 660.276
100000 689.127
1000000 1620.025
EOD
$data6 << EOD
1000 1831.870
10000 443.332
100000 618.430
1000000 1688.241
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 8174.546
100000 963.330
1000000 274.783
EOD
$data1 << EOD
10000 280.048
100000 217.990
1000000 164.800
EOD
$data2 << EOD
10000 251.533
100000 185.849
1000000 136.197
EOD
$data3 << EOD
10000 122.193
100000 139.473
1000000 242.553
EOD
$data4 << EOD
10000 600.030
100000 255.826
1000000 399.907
EOD
$data5 << EOD
10000 648.855
100000 691.227
1000000 1563.564
EOD
$data6 << EOD
10000 525.558
100000 817.467
1000000 1641.178
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.969
10000 9.981
100000 14.264
1000000 41.275
EOD
$data1 << EOD
1000 30.104
10000 37.688
100000 62.700
1000000 97.411
EOD
$data2 << EOD
1000 21.787
10000 26.263
100000 34.152
1000000 52.164
EOD
$data3 << EOD
1000 21.744
10000 38.167
100000 73.879
1000000 145.786
EOD
$data4 << EOD
1000 32.117
10000 51.121
100000 91.581
1000000 219.326
EOD
$data5 << EOD
1000 104.617
10000 182.653
100000 428.449
1000000 885.898
EOD
$data6 << EOD
1000 82.789
10000 141.467
100000 349.992
1000000 934.555
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 196.201
10000 195.644
100000 195.744
1000000 195.707
EOD
$data1 << EOD
1000 7.823
10000 7.817
100000 7.849
1000000 7.816
EOD
$data2 << EOD
1000 7.823
10000 7.782
100000 7.806
1000000 7.814
EOD
$data3 << EOD
1000 4.223
10000 4.612
100000 4.796
1000000 5.933
EOD
$data4 << EOD
1000 47.198
10000 48.380
100000 48.343
1000000 48.309
EOD
$data5 << EOD
1000 45.242
10000 46.419
100000 50.387
1000000 50.642
EOD
$data6 << EOD
1000 30.638
10000 30.815
100000 31.854
1000000 30.811
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 1493.000
100000 25048.000
1000000 587123.000
EOD
$data1 << EOD
10000 1214.000
100000 3146.000
1000000 22628.000
EOD
$data2 << EOD
10000 1513.000
100000 4034.000
1000000 22497.000
EOD
$data3 << EOD
10000 380.000
100000 20103.000
1000000 8033467.000
EOD
$data4 << EOD
10000 1521.000
100000 58422.000
1000000 8041598.000
EOD
$data5 << EOD
10000 1327.000
100000 4040775.000
1000000 8113657.000
EOD
$data6 << EOD
10000 1247.000
100000 4035339.000
1000000 12084754.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
10000 2282.000
100000 47739.000
1000000 594506.000
EOD
$data1 << EOD
10000 1526.000
100000 4394.000
1000000 23097.000
EOD
$data2 << EOD
10000 1732.000
100000 6511.000
1000000 23192.000
EOD
$data3 << EOD
10000 550.000
100000 38929541.000
1000000 8040452.000
EOD
$data4 << EOD
10000 8009601.000
100000 12037727.000
1000000 12051537.000
EOD
$data5 << EOD
10000 8017229.000
100000 8038420.000
1000000 12063205.000
EOD
$data6 << EOD
10000 8023451.000
100000 8030369.000
1000000 16097029.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.808
10000 19.242
100000 113.447
1000000 266.086
EOD
$data1 << EOD
1000 39.331
10000 36.321
100000 43.922
1000000 59.007
EOD
$data2 << EOD
1000 27.023
10000 26.444
100000 63.667
1000000 134.978
EOD
$data3 << EOD
1000 51.302
10000 88.191
100000 133.135
1000000 230.743
EOD
$data4 << EOD
1000 122.716
10000 131.130
100000 204.975
1000000 386.366
EOD
$data5 << EOD
1000 184.725
10000 295.695
100000 874.735
1000000 1042.614
EOD
$data6 << EOD
1000 104.801
10000 196.722
100000 495.119
1000000 1154.025
EOD
$data7 << EOD
1000 921.884
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
