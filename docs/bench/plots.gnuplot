set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.815
100000 4.917
1000000 4.938
EOD
$data1 << EOD
1000 6.186
100000 6.284
1000000 7.278
EOD
$data2 << EOD
1000 45.034
100000 64.721
1000000 71.112
EOD
$data3 << EOD
1000 52.236
100000 92.229
1000000 106.168
EOD
$data4 << EOD
1000 164.715
100000 266.273
1000000 280.596
EOD
$data5 << EOD
1000 91.533
100000 187.385
1000000 178.756
EOD
$data6 << EOD
1000 708.502
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.887
100000 13.389
1000000 47.851
EOD
$data1 << EOD
1000 6.869
100000 69.821
1000000 112.878
EOD
$data2 << EOD
1000 16.008
100000 60.103
1000000 122.492
EOD
$data3 << EOD
1000 24.471
100000 72.249
1000000 184.447
EOD
$data4 << EOD
1000 97.398
100000 426.522
1000000 544.911
EOD
$data5 << EOD
1000 67.408
100000 459.780
1000000 746.679
EOD
$data6 << EOD
1000 742.565
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.213
100000 9.298
1000000 33.570
EOD
$data1 << EOD
1000 4.250
100000 32.123
1000000 58.988
EOD
$data2 << EOD
1000 10.539
100000 31.437
1000000 62.203
EOD
$data3 << EOD
1000 14.457
100000 39.949
1000000 116.582
EOD
$data4 << EOD
1000 75.407
100000 377.304
1000000 470.014
EOD
$data5 << EOD
1000 44.328
100000 387.125
1000000 643.243
EOD
$data6 << EOD
1000 462.485
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 170.549
100000 101.383
1000000 160.102
EOD
$data1 << EOD
1000 458.234
100000 87.069
1000000 38.643
EOD
$data2 << EOD
1000 184.840
100000 142.307
1000000 265.579
EOD
$data3 << EOD
1000 2744.633
100000 250.044
1000000 458.136
EOD
$data4 << EOD
1000 2601.711
100000 871.161
1000000 1719.220
EOD
$data5 << EOD
1000 1824.958
100000 759.525
1000000 1901.212
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 981.489
1000000 280.723
EOD
$data1 << EOD
100000 183.417
1000000 154.507
EOD
$data2 << EOD
100000 143.371
1000000 266.890
EOD
$data3 << EOD
100000 278.572
1000000 468.354
EOD
$data4 << EOD
100000 881.367
1000000 1696.528
EOD
$data5 << EOD
100000 774.210
1000000 1885.509
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.983
100000 15.188
1000000 46.985
EOD
$data1 << EOD
1000 20.031
100000 58.707
1000000 83.787
EOD
$data2 << EOD
1000 21.359
100000 79.956
1000000 152.681
EOD
$data3 << EOD
1000 31.841
100000 104.480
1000000 228.930
EOD
$data4 << EOD
1000 103.651
100000 518.535
1000000 903.572
EOD
$data5 << EOD
1000 82.336
100000 439.525
1000000 897.076
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 204.354
100000 203.704
1000000 204.428
EOD
$data1 << EOD
1000 6.185
100000 6.237
1000000 6.289
EOD
$data2 << EOD
1000 5.091
100000 4.381
1000000 4.060
EOD
$data3 << EOD
1000 47.088
100000 47.196
1000000 48.993
EOD
$data4 << EOD
1000 43.251
100000 44.240
1000000 46.202
EOD
$data5 << EOD
1000 29.790
100000 29.605
1000000 29.425
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 47208.000
1000000 599018.000
EOD
$data1 << EOD
100000 860.000
1000000 2816.000
EOD
$data2 << EOD
100000 3139.000
1000000 30334.000
EOD
$data3 << EOD
100000 17341.000
1000000 36003.000
EOD
$data4 << EOD
100000 30563.000
1000000 97890.000
EOD
$data5 << EOD
100000 19776.000
1000000 86495.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 48583.000
1000000 610200.000
EOD
$data1 << EOD
100000 3024.000
1000000 5615.000
EOD
$data2 << EOD
100000 39397.000
1000000 45458.000
EOD
$data3 << EOD
100000 24314.000
1000000 48596.000
EOD
$data4 << EOD
100000 42963.000
1000000 2066345.000
EOD
$data5 << EOD
100000 29221.000
1000000 410755.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.848
100000 182.887
1000000 281.106
EOD
$data1 << EOD
1000 26.365
100000 27.446
1000000 38.522
EOD
$data2 << EOD
1000 53.915
100000 131.991
1000000 266.690
EOD
$data3 << EOD
1000 129.488
100000 203.740
1000000 472.399
EOD
$data4 << EOD
1000 182.987
100000 839.526
1000000 1124.870
EOD
$data5 << EOD
1000 103.917
100000 732.179
1000000 1195.601
EOD
$data6 << EOD
1000 1040.732
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
