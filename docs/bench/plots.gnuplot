set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.821
100000 4.894
1000000 4.972
EOD
$data1 << EOD
1000 6.048
100000 6.082
1000000 7.752
EOD
$data2 << EOD
1000 4.025
100000 4.056
1000000 4.433
EOD
$data3 << EOD
1000 45.354
100000 64.049
1000000 73.795
EOD
$data4 << EOD
1000 50.425
100000 90.675
1000000 108.637
EOD
$data5 << EOD
1000 167.670
100000 254.319
1000000 306.231
EOD
$data6 << EOD
1000 92.092
100000 165.011
1000000 218.664
EOD
$data7 << EOD
1000 704.521
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.838
100000 12.411
1000000 45.316
EOD
$data1 << EOD
1000 6.698
100000 29.546
1000000 92.932
EOD
$data2 << EOD
1000 4.123
100000 11.247
1000000 36.308
EOD
$data3 << EOD
1000 15.919
100000 48.188
1000000 109.415
EOD
$data4 << EOD
1000 25.004
100000 54.584
1000000 165.246
EOD
$data5 << EOD
1000 84.641
100000 300.814
1000000 513.149
EOD
$data6 << EOD
1000 67.676
100000 329.095
1000000 684.846
EOD
$data7 << EOD
1000 742.839
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.150
100000 8.914
1000000 32.213
EOD
$data1 << EOD
1000 3.904
100000 16.829
1000000 56.767
EOD
$data2 << EOD
1000 2.663
100000 6.302
1000000 21.545
EOD
$data3 << EOD
1000 10.779
100000 28.530
1000000 57.832
EOD
$data4 << EOD
1000 14.561
100000 32.563
1000000 106.336
EOD
$data5 << EOD
1000 75.990
100000 315.225
1000000 449.361
EOD
$data6 << EOD
1000 43.847
100000 354.480
1000000 607.713
EOD
$data7 << EOD
1000 453.929
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 170.880
100000 69.069
1000000 156.585
EOD
$data1 << EOD
1000 203.359
100000 53.518
1000000 37.649
EOD
$data2 << EOD
1000 210.810
100000 59.520
1000000 45.589
EOD
$data3 << EOD
1000 184.853
100000 141.876
1000000 235.417
EOD
$data4 << EOD
1000 2726.028
100000 228.438
1000000 391.986
EOD
$data5 << EOD
1000 2311.249
100000 725.118
1000000 1651.069
EOD
$data6 << EOD
1000 1800.076
100000 582.634
1000000 1712.423
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 953.792
1000000 278.825
EOD
$data1 << EOD
100000 159.654
1000000 90.569
EOD
$data2 << EOD
100000 180.029
1000000 118.831
EOD
$data3 << EOD
100000 140.792
1000000 231.398
EOD
$data4 << EOD
100000 255.144
1000000 396.149
EOD
$data5 << EOD
100000 734.467
1000000 1600.580
EOD
$data6 << EOD
100000 606.896
1000000 1679.529
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.954
100000 13.909
1000000 43.705
EOD
$data1 << EOD
1000 23.838
100000 45.605
1000000 84.216
EOD
$data2 << EOD
1000 11.319
100000 17.107
1000000 34.543
EOD
$data3 << EOD
1000 21.835
100000 69.775
1000000 137.829
EOD
$data4 << EOD
1000 32.118
100000 86.055
1000000 202.016
EOD
$data5 << EOD
1000 103.788
100000 350.499
1000000 811.320
EOD
$data6 << EOD
1000 82.566
100000 279.343
1000000 758.115
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.586
100000 195.315
1000000 195.646
EOD
$data1 << EOD
1000 6.269
100000 6.241
1000000 6.218
EOD
$data2 << EOD
1000 6.249
100000 6.209
1000000 6.216
EOD
$data3 << EOD
1000 4.951
100000 6.020
1000000 5.164
EOD
$data4 << EOD
1000 47.201
100000 48.054
1000000 50.396
EOD
$data5 << EOD
1000 45.142
100000 48.335
1000000 49.649
EOD
$data6 << EOD
1000 30.981
100000 30.949
1000000 30.796
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 43666.000
1000000 578588.000
EOD
$data1 << EOD
100000 763.000
1000000 2599.000
EOD
$data2 << EOD
100000 2668.000
1000000 19004.000
EOD
$data3 << EOD
100000 2074.000
1000000 25571.000
EOD
$data4 << EOD
100000 18949.000
1000000 31460.000
EOD
$data5 << EOD
100000 22943.000
1000000 91047.000
EOD
$data6 << EOD
100000 18810.000
1000000 73454.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 44245.000
1000000 585176.000
EOD
$data1 << EOD
100000 4097.000
1000000 7227.000
EOD
$data2 << EOD
100000 3391.000
1000000 19382.000
EOD
$data3 << EOD
100000 17643.000
1000000 33918.000
EOD
$data4 << EOD
100000 37089.000
1000000 43018.000
EOD
$data5 << EOD
100000 39469.000
1000000 712554.000
EOD
$data6 << EOD
100000 24653.000
1000000 86911.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.842
100000 138.805
1000000 263.656
EOD
$data1 << EOD
1000 25.032
100000 25.441
1000000 37.085
EOD
$data2 << EOD
1000 22.703
100000 57.640
1000000 78.053
EOD
$data3 << EOD
1000 52.130
100000 129.592
1000000 227.932
EOD
$data4 << EOD
1000 117.289
100000 195.391
1000000 420.825
EOD
$data5 << EOD
1000 183.115
100000 727.807
1000000 1070.090
EOD
$data6 << EOD
1000 102.685
100000 630.244
1000000 1136.793
EOD
$data7 << EOD
1000 1040.464
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
