set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.808
100000 4.900
1000000 4.982
EOD
$data1 << EOD
1000 6.049
100000 6.155
1000000 7.551
EOD
$data2 << EOD
1000 3.897
100000 3.915
1000000 4.352
EOD
$data3 << EOD
1000 45.302
100000 64.701
1000000 72.903
EOD
$data4 << EOD
1000 50.603
100000 90.977
1000000 107.932
EOD
$data5 << EOD
1000 167.295
100000 263.792
1000000 308.101
EOD
$data6 << EOD
1000 92.024
100000 173.832
1000000 223.472
EOD
$data7 << EOD
1000 692.285
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.837
100000 12.949
1000000 47.310
EOD
$data1 << EOD
1000 6.665
100000 53.738
1000000 96.248
EOD
$data2 << EOD
1000 4.012
100000 14.931
1000000 37.786
EOD
$data3 << EOD
1000 16.028
100000 59.151
1000000 117.812
EOD
$data4 << EOD
1000 24.755
100000 74.407
1000000 175.466
EOD
$data5 << EOD
1000 84.427
100000 381.740
1000000 525.377
EOD
$data6 << EOD
1000 68.304
100000 438.363
1000000 740.687
EOD
$data7 << EOD
1000 739.160
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.188
100000 9.399
1000000 33.448
EOD
$data1 << EOD
1000 3.869
100000 30.629
1000000 58.227
EOD
$data2 << EOD
1000 2.509
100000 6.512
1000000 22.067
EOD
$data3 << EOD
1000 10.681
100000 28.945
1000000 59.971
EOD
$data4 << EOD
1000 14.579
100000 35.264
1000000 115.271
EOD
$data5 << EOD
1000 76.328
100000 419.212
1000000 467.480
EOD
$data6 << EOD
1000 44.010
100000 360.366
1000000 627.137
EOD
$data7 << EOD
1000 458.207
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 173.157
100000 88.082
1000000 158.550
EOD
$data1 << EOD
1000 197.694
100000 47.005
1000000 37.813
EOD
$data2 << EOD
1000 204.833
100000 56.166
1000000 45.485
EOD
$data3 << EOD
1000 197.951
100000 140.674
1000000 253.638
EOD
$data4 << EOD
1000 2805.264
100000 251.745
1000000 437.566
EOD
$data5 << EOD
1000 2316.943
100000 774.856
1000000 1665.994
EOD
$data6 << EOD
1000 1828.981
100000 729.598
1000000 1891.212
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 979.270
1000000 284.074
EOD
$data1 << EOD
100000 160.178
1000000 92.514
EOD
$data2 << EOD
100000 183.644
1000000 120.658
EOD
$data3 << EOD
100000 141.644
1000000 256.299
EOD
$data4 << EOD
100000 264.808
1000000 452.427
EOD
$data5 << EOD
100000 802.640
1000000 1647.607
EOD
$data6 << EOD
100000 697.881
1000000 1813.651
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.976
100000 15.162
1000000 46.656
EOD
$data1 << EOD
1000 23.901
100000 58.533
1000000 87.877
EOD
$data2 << EOD
1000 10.550
100000 19.728
1000000 34.586
EOD
$data3 << EOD
1000 21.681
100000 79.962
1000000 147.615
EOD
$data4 << EOD
1000 32.257
100000 99.996
1000000 220.082
EOD
$data5 << EOD
1000 104.787
100000 473.620
1000000 863.365
EOD
$data6 << EOD
1000 82.183
100000 402.913
1000000 809.830
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.679
100000 195.535
1000000 195.873
EOD
$data1 << EOD
1000 5.951
100000 5.972
1000000 5.962
EOD
$data2 << EOD
1000 6.033
100000 5.978
1000000 6.023
EOD
$data3 << EOD
1000 4.263
100000 4.701
1000000 5.221
EOD
$data4 << EOD
1000 47.533
100000 48.534
1000000 50.406
EOD
$data5 << EOD
1000 44.437
100000 48.034
1000000 48.138
EOD
$data6 << EOD
1000 30.641
100000 30.548
1000000 30.656
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 34533.000
1000000 589303.000
EOD
$data1 << EOD
100000 760.000
1000000 2507.000
EOD
$data2 << EOD
100000 2484.000
1000000 19586.000
EOD
$data3 << EOD
100000 13682.000
1000000 34350.000
EOD
$data4 << EOD
100000 15572.000
1000000 32681.000
EOD
$data5 << EOD
100000 28608.000
1000000 93251.000
EOD
$data6 << EOD
100000 23440.000
1000000 81319.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 38242.000
1000000 596844.000
EOD
$data1 << EOD
100000 3886.000
1000000 6856.000
EOD
$data2 << EOD
100000 3518.000
1000000 19978.000
EOD
$data3 << EOD
100000 24359.000
1000000 1349777.000
EOD
$data4 << EOD
100000 29624.000
1000000 43655.000
EOD
$data5 << EOD
100000 44289.000
1000000 1386147.000
EOD
$data6 << EOD
100000 52063.000
1000000 92211.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.841
100000 144.050
1000000 271.074
EOD
$data1 << EOD
1000 25.058
100000 25.768
1000000 38.368
EOD
$data2 << EOD
1000 22.553
100000 50.331
1000000 76.784
EOD
$data3 << EOD
1000 52.191
100000 131.193
1000000 245.789
EOD
$data4 << EOD
1000 118.297
100000 205.065
1000000 435.828
EOD
$data5 << EOD
1000 183.800
100000 817.671
1000000 1070.100
EOD
$data6 << EOD
1000 104.099
100000 704.088
1000000 1165.148
EOD
$data7 << EOD
1000 1028.094
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
