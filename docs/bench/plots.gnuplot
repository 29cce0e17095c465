set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.818
100000 4.878
1000000 4.997
EOD
$data1 << EOD
1000 6.021
100000 6.066
1000000 7.518
EOD
$data2 << EOD
1000 3.917
100000 3.945
1000000 4.428
EOD
$data3 << EOD
1000 44.891
100000 64.316
1000000 73.017
EOD
$data4 << EOD
1000 50.690
100000 91.084
1000000 108.342
EOD
$data5 << EOD
1000 167.202
100000 262.311
1000000 309.781
EOD
$data6 << EOD
1000 92.339
100000 178.111
1000000 222.173
EOD
$data7 << EOD
1000 697.555
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.842
100000 13.087
1000000 46.826
EOD
$data1 << EOD
1000 6.663
100000 48.921
1000000 96.419
EOD
$data2 << EOD
1000 4.039
100000 12.835
1000000 37.809
EOD
$data3 << EOD
1000 16.107
100000 63.210
1000000 121.089
EOD
$data4 << EOD
1000 24.884
100000 57.570
1000000 175.191
EOD
$data5 << EOD
1000 84.791
100000 354.609
1000000 525.677
EOD
$data6 << EOD
1000 68.559
100000 401.198
1000000 730.916
EOD
$data7 << EOD
1000 745.006
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.150
100000 9.643
1000000 34.055
EOD
$data1 << EOD
1000 3.908
100000 30.517
1000000 58.374
EOD
$data2 << EOD
1000 2.506
100000 6.897
1000000 22.488
EOD
$data3 << EOD
1000 10.683
100000 27.442
1000000 62.995
EOD
$data4 << EOD
1000 14.486
100000 38.412
1000000 113.126
EOD
$data5 << EOD
1000 76.577
100000 346.257
1000000 476.986
EOD
$data6 << EOD
1000 44.941
100000 394.192
1000000 621.902
EOD
$data7 << EOD
1000 462.800
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 171.050
100000 74.549
1000000 160.674
EOD
$data1 << EOD
1000 197.252
100000 55.235
1000000 38.209
EOD
$data2 << EOD
1000 203.382
100000 59.151
1000000 46.054
EOD
$data3 << EOD
1000 185.245
100000 141.530
1000000 249.565
EOD
$data4 << EOD
1000 2771.248
100000 251.020
1000000 438.922
EOD
$data5 << EOD
1000 2320.702
100000 834.064
1000000 1666.551
EOD
$data6 << EOD
1000 1831.820
100000 762.808
1000000 1870.409
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 976.080
1000000 284.341
EOD
$data1 << EOD
100000 154.591
1000000 91.614
EOD
$data2 << EOD
100000 179.033
1000000 119.637
EOD
$data3 << EOD
100000 143.638
1000000 261.071
EOD
$data4 << EOD
100000 273.570
1000000 443.165
EOD
$data5 << EOD
100000 817.181
1000000 1694.380
EOD
$data6 << EOD
100000 708.827
1000000 1838.374
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.961
100000 14.646
1000000 45.957
EOD
$data1 << EOD
1000 23.758
100000 57.122
1000000 88.831
EOD
$data2 << EOD
1000 11.054
100000 19.955
1000000 34.831
EOD
$data3 << EOD
1000 21.617
100000 77.269
1000000 149.298
EOD
$data4 << EOD
1000 32.378
100000 94.562
1000000 219.341
EOD
$data5 << EOD
1000 104.534
100000 466.933
1000000 865.592
EOD
$data6 << EOD
1000 84.231
100000 407.642
1000000 860.704
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 196.016
100000 196.205
1000000 195.645
EOD
$data1 << EOD
1000 6.000
100000 5.961
1000000 6.025
EOD
$data2 << EOD
1000 6.072
100000 5.922
1000000 5.979
EOD
$data3 << EOD
1000 4.424
100000 8.956
1000000 4.862
EOD
$data4 << EOD
1000 47.697
100000 47.841
1000000 47.877
EOD
$data5 << EOD
1000 45.300
100000 47.815
1000000 49.292
EOD
$data6 << EOD
1000 32.664
100000 31.606
1000000 34.300
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 37617.000
1000000 588690.000
EOD
$data1 << EOD
100000 800.000
1000000 2669.000
EOD
$data2 << EOD
100000 2455.000
1000000 19300.000
EOD
$data3 << EOD
100000 9600.000
1000000 27070.000
EOD
$data4 << EOD
100000 16089.000
1000000 31489.000
EOD
$data5 << EOD
100000 22722.000
1000000 90764.000
EOD
$data6 << EOD
100000 21141.000
1000000 74151.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 39477.000
1000000 602811.000
EOD
$data1 << EOD
100000 4044.000
1000000 6027.000
EOD
$data2 << EOD
100000 3197.000
1000000 19607.000
EOD
$data3 << EOD
100000 53114.000
1000000 38268.000
EOD
$data4 << EOD
100000 21859.000
1000000 45250.000
EOD
$data5 << EOD
100000 37947.000
1000000 1160434.000
EOD
$data6 << EOD
100000 25740.000
1000000 79792.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.778
100000 126.210
1000000 272.810
EOD
$data1 << EOD
1000 24.664
100000 25.171
1000000 39.579
EOD
$data2 << EOD
1000 22.719
100000 54.124
1000000 81.219
EOD
$data3 << EOD
1000 50.992
100000 130.644
1000000 241.364
EOD
$data4 << EOD
1000 117.843
100000 196.926
1000000 432.841
EOD
$data5 << EOD
1000 183.060
100000 751.413
1000000 1084.693
EOD
$data6 << EOD
1000 103.220
100000 809.924
1000000 1169.326
EOD
$data7 << EOD
1000 1021.170
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
