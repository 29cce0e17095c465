set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.907
100000 5.033
1000000 5.045
EOD
$data1 << EOD
1000 7.797
100000 7.993
1000000 8.943
EOD
$data2 << EOD
1000 45.139
100000 64.589
1000000 71.433
EOD
$data3 << EOD
1000 49.979
100000 91.394
1000000 104.849
EOD
$data4 << EOD
1000 164.137
100000 265.027
1000000 277.484
EOD
$data5 << EOD
1000 92.118
100000 172.691
1000000 178.941
EOD
$data6 << EOD
1000 712.009
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.804
100000 13.207
1000000 47.887
EOD
$data1 << EOD
1000 12.347
100000 133.458
1000000 202.956
EOD
$data2 << EOD
1000 16.783
100000 77.462
1000000 122.697
EOD
$data3 << EOD
1000 26.234
100000 79.690
1000000 184.524
EOD
$data4 << EOD
1000 87.178
100000 436.806
1000000 553.645
EOD
$data5 << EOD
1000 67.332
100000 465.222
1000000 756.613
EOD
$data6 << EOD
1000 740.724
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.183
100000 9.751
1000000 34.200
EOD
$data1 << EOD
1000 5.076
100000 53.160
1000000 71.083
EOD
$data2 << EOD
1000 9.975
100000 29.993
1000000 57.971
EOD
$data3 << EOD
1000 14.487
100000 42.928
1000000 119.763
EOD
$data4 << EOD
1000 75.394
100000 397.323
1000000 481.834
EOD
$data5 << EOD
1000 44.069
100000 402.476
1000000 644.187
EOD
$data6 << EOD
1000 463.853
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 170.302
100000 110.250
1000000 158.049
EOD
$data1 << EOD
1000 483.208
100000 105.407
1000000 54.143
EOD
$data2 << EOD
1000 185.110
100000 139.732
1000000 277.199
EOD
$data3 << EOD
1000 2738.211
100000 250.007
1000000 452.788
EOD
$data4 << EOD
1000 2297.528
100000 890.934
1000000 1705.548
EOD
$data5 << EOD
1000 1823.055
100000 821.145
1000000 1916.068
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 975.377
1000000 277.878
EOD
$data1 << EOD
100000 192.708
1000000 152.108
EOD
$data2 << EOD
100000 144.727
1000000 261.403
EOD
$data3 << EOD
100000 279.916
1000000 458.299
EOD
$data4 << EOD
100000 854.376
1000000 1706.978
EOD
$data5 << EOD
100000 751.506
1000000 1831.492
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.837
100000 14.637
1000000 47.194
EOD
$data1 << EOD
1000 24.977
100000 81.810
1000000 114.696
EOD
$data2 << EOD
1000 21.364
100000 77.577
1000000 151.869
EOD
$data3 << EOD
1000 31.783
100000 96.646
1000000 231.512
EOD
$data4 << EOD
1000 115.706
100000 496.087
1000000 892.755
EOD
$data5 << EOD
1000 100.598
100000 385.137
1000000 889.190
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 196.603
100000 196.500
1000000 196.745
EOD
$data1 << EOD
1000 6.847
100000 6.762
1000000 6.814
EOD
$data2 << EOD
1000 3.445
100000 4.017
1000000 4.603
EOD
$data3 << EOD
1000 46.066
100000 48.486
1000000 46.573
EOD
$data4 << EOD
1000 42.869
100000 44.227
1000000 45.145
EOD
$data5 << EOD
1000 29.368
100000 29.298
1000000 29.766
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 49175.000
1000000 592177.000
EOD
$data1 << EOD
100000 894.000
1000000 3602.000
EOD
$data2 << EOD
100000 1614.000
1000000 43495.000
EOD
$data3 << EOD
100000 18704.000
1000000 41387.000
EOD
$data4 << EOD
100000 26437.000
1000000 98329.000
EOD
$data5 << EOD
100000 22129.000
1000000 107379.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 50878.000
1000000 597605.000
EOD
$data1 << EOD
100000 2676.000
1000000 4562.000
EOD
$data2 << EOD
100000 26457.000
1000000 79920.000
EOD
$data3 << EOD
100000 27729.000
1000000 349967.000
EOD
$data4 << EOD
100000 43712.000
1000000 112882.000
EOD
$data5 << EOD
100000 24826.000
1000000 288092.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.795
100000 179.376
1000000 278.944
EOD
$data1 << EOD
1000 25.143
100000 25.219
1000000 42.428
EOD
$data2 << EOD
1000 53.981
100000 131.492
1000000 268.901
EOD
$data3 << EOD
1000 116.709
100000 195.699
1000000 468.586
EOD
$data4 << EOD
1000 180.608
100000 814.268
1000000 1105.052
EOD
$data5 << EOD
1000 105.001
100000 753.099
1000000 1168.146
EOD
$data6 << EOD
1000 981.807
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'heap', $data3 using 1:2 with linespoints lw 2 title 'libev', $data4 using 1:2 with linespoints lw 2 title 'libuv', $data5 using 1:2 with linespoints lw 2 title 'libevent', $data6 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
