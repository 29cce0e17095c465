set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.816
100000 4.957
1000000 4.951
EOD
$data1 << EOD
1000 5.892
100000 6.058
1000000 7.911
EOD
$data2 << EOD
1000 4.214
100000 4.489
1000000 7.087
EOD
$data3 << EOD
1000 44.649
100000 64.670
1000000 73.340
EOD
$data4 << EOD
1000 50.671
100000 94.383
1000000 108.412
EOD
$data5 << EOD
1000 166.274
100000 265.230
1000000 307.815
EOD
$data6 << EOD
1000 92.200
100000 182.593
1000000 220.646
EOD
$data7 << EOD
1000 690.313
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.847
100000 13.590
1000000 48.665
EOD
$data1 << EOD
1000 6.572
100000 63.426
1000000 100.582
EOD
$data2 << EOD
1000 4.342
100000 29.789
1000000 44.559
EOD
$data3 << EOD
1000 16.025
100000 64.947
1000000 125.520
EOD
$data4 << EOD
1000 25.275
100000 84.167
1000000 186.298
EOD
$data5 << EOD
1000 84.518
100000 438.505
1000000 549.449
EOD
$data6 << EOD
1000 73.060
100000 488.681
1000000 762.529
EOD
$data7 << EOD
1000 747.033
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.140
100000 10.720
1000000 34.467
EOD
$data1 << EOD
1000 3.875
100000 44.018
1000000 59.254
EOD
$data2 << EOD
1000 2.628
100000 16.201
1000000 23.528
EOD
$data3 << EOD
1000 10.512
100000 35.330
1000000 66.544
EOD
$data4 << EOD
1000 14.537
100000 50.962
1000000 120.879
EOD
$data5 << EOD
1000 75.935
100000 401.505
1000000 485.259
EOD
$data6 << EOD
1000 43.998
100000 422.993
1000000 660.227
EOD
$data7 << EOD
1000 615.310
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 184.780
100000 112.901
1000000 163.150
EOD
$data1 << EOD
1000 466.800
100000 87.478
1000000 39.231
EOD
$data2 << EOD
1000 482.227
100000 110.396
1000000 63.759
EOD
$data3 << EOD
1000 184.556
100000 147.699
1000000 286.333
EOD
$data4 << EOD
1000 2701.767
100000 259.036
1000000 484.023
EOD
$data5 << EOD
1000 2315.381
100000 928.999
1000000 1852.951
EOD
$data6 << EOD
1000 1851.591
100000 860.812
1000000 2062.978
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 995.960
1000000 283.565
EOD
$data1 << EOD
100000 186.991
1000000 156.835
EOD
$data2 << EOD
100000 226.081
1000000 179.740
EOD
$data3 << EOD
100000 148.444
1000000 270.648
EOD
$data4 << EOD
100000 293.783
1000000 483.507
EOD
$data5 << EOD
100000 975.948
1000000 1717.291
EOD
$data6 << EOD
100000 889.220
1000000 1892.231
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.941
100000 15.432
1000000 49.848
EOD
$data1 << EOD
1000 21.389
100000 61.377
1000000 89.457
EOD
$data2 << EOD
1000 11.715
100000 24.588
1000000 35.982
EOD
$data3 << EOD
1000 21.632
100000 80.719
1000000 157.561
EOD
$data4 << EOD
1000 31.941
100000 104.163
1000000 234.334
EOD
$data5 << EOD
1000 103.228
100000 525.776
1000000 906.297
EOD
$data6 << EOD
1000 81.667
100000 446.369
1000000 916.103
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 196.030
100000 196.064
1000000 195.840
EOD
$data1 << EOD
1000 7.023
100000 7.064
1000000 7.086
EOD
$data2 << EOD
1000 7.059
100000 7.082
1000000 7.076
EOD
$data3 << EOD
1000 4.173
100000 5.606
1000000 4.791
EOD
$data4 << EOD
1000 47.161
100000 50.093
1000000 47.917
EOD
$data5 << EOD
1000 45.064
100000 49.671
1000000 49.264
EOD
$data6 << EOD
1000 30.611
100000 30.686
1000000 30.812
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 50513.000
1000000 598763.000
EOD
$data1 << EOD
100000 846.000
1000000 3149.000
EOD
$data2 << EOD
100000 2431.000
1000000 5096.000
EOD
$data3 << EOD
100000 15271.000
1000000 32370.000
EOD
$data4 << EOD
100000 21380.000
1000000 37725.000
EOD
$data5 << EOD
100000 25621.000
1000000 101856.000
EOD
$data6 << EOD
100000 26214.000
1000000 144478.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 53256.000
1000000 612654.000
EOD
$data1 << EOD
100000 3521.000
1000000 5503.000
EOD
$data2 << EOD
100000 3003.000
1000000 7959.000
EOD
$data3 << EOD
100000 40962.000
1000000 40303.000
EOD
$data4 << EOD
100000 32642.000
1000000 50722.000
EOD
$data5 << EOD
100000 50596.000
1000000 620948.000
EOD
$data6 << EOD
100000 43329.000
1000000 605410.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 15.007
100000 197.145
1000000 279.291
EOD
$data1 << EOD
1000 25.627
100000 25.862
1000000 38.359
EOD
$data2 << EOD
1000 30.386
100000 65.410
1000000 82.682
EOD
$data3 << EOD
1000 52.721
100000 136.439
1000000 271.039
EOD
$data4 << EOD
1000 118.649
100000 211.449
1000000 488.733
EOD
$data5 << EOD
1000 183.978
100000 855.209
1000000 1111.133
EOD
$data6 << EOD
1000 105.101
100000 796.493
1000000 1202.249
EOD
$data7 << EOD
1000 1036.855
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
