set terminal svg size 720,440 background rgb 'white'
set logscale xy
set format x '10^{%T}'
set xlabel 'timers'
set key outside right
set grid
$data0 << EOD
1000 4.816
100000 4.883
1000000 4.964
EOD
$data1 << EOD
1000 6.066
100000 6.067
1000000 7.740
EOD
$data2 << EOD
1000 3.995
100000 4.040
1000000 4.539
EOD
$data3 << EOD
1000 45.159
100000 65.038
1000000 72.681
EOD
$data4 << EOD
1000 50.356
100000 90.820
1000000 108.170
EOD
$data5 << EOD
1000 167.434
100000 255.835
1000000 307.244
EOD
$data6 << EOD
1000 91.984
100000 172.847
1000000 219.205
EOD
$data7 << EOD
1000 691.969
EOD
set output 'docs/bench/churn.svg'
set title 'churn'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 5.845
100000 12.538
1000000 45.830
EOD
$data1 << EOD
1000 6.665
100000 42.257
1000000 95.826
EOD
$data2 << EOD
1000 4.110
100000 12.592
1000000 36.748
EOD
$data3 << EOD
1000 16.193
100000 45.516
1000000 116.322
EOD
$data4 << EOD
1000 24.665
100000 57.312
1000000 177.328
EOD
$data5 << EOD
1000 84.515
100000 352.362
1000000 515.922
EOD
$data6 << EOD
1000 67.903
100000 394.331
1000000 717.235
EOD
$data7 << EOD
1000 737.282
EOD
set output 'docs/bench/churn-rand.svg'
set title 'churn-rand'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 6.158
100000 9.307
1000000 33.175
EOD
$data1 << EOD
1000 3.899
100000 27.172
1000000 57.515
EOD
$data2 << EOD
1000 2.617
100000 6.697
1000000 22.277
EOD
$data3 << EOD
1000 10.824
100000 22.820
1000000 59.439
EOD
$data4 << EOD
1000 14.606
100000 33.924
1000000 110.980
EOD
$data5 << EOD
1000 76.137
100000 349.114
1000000 456.927
EOD
$data6 << EOD
1000 44.453
100000 358.756
1000000 604.631
EOD
$data7 << EOD
1000 454.341
EOD
set output 'docs/bench/reset.svg'
set title 'reset'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
$data0 << EOD
1000 171.349
100000 91.455
1000000 156.969
EOD
$data1 << EOD
1000 202.300
100000 56.045
1000000 38.080
EOD
$data2 << EOD
1000 209.692
100000 60.949
1000000 47.019
EOD
$data3 << EOD
1000 196.136
100000 139.954
1000000 251.455
EOD
$data4 << EOD
1000 2764.353
100000 241.387
1000000 428.669
EOD
$data5 << EOD
1000 2314.028
100000 793.206
1000000 1699.155
EOD
$data6 << EOD
1000 1824.328
100000 710.739
1000000 1876.774
EOD
set output 'docs/bench/expire.svg'
set title 'expire'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 987.955
1000000 280.716
EOD
$data1 << EOD
100000 160.267
1000000 91.562
EOD
$data2 << EOD
100000 182.967
1000000 121.365
EOD
$data3 << EOD
100000 144.780
1000000 259.341
EOD
$data4 << EOD
100000 276.387
1000000 448.896
EOD
$data5 << EOD
100000 868.454
1000000 1636.635
EOD
$data6 << EOD
100000 760.022
1000000 1881.292
EOD
set output 'docs/bench/expire-24h.svg'
set title 'expire-24h'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 11.949
100000 14.419
1000000 45.221
EOD
$data1 << EOD
1000 23.882
100000 56.718
1000000 86.736
EOD
$data2 << EOD
1000 11.542
100000 19.343
1000000 35.135
EOD
$data3 << EOD
1000 21.620
100000 74.870
1000000 146.529
EOD
$data4 << EOD
1000 31.998
100000 94.705
1000000 215.992
EOD
$data5 << EOD
1000 107.004
100000 478.369
1000000 827.728
EOD
$data6 << EOD
1000 82.699
100000 384.655
1000000 839.735
EOD
set output 'docs/bench/mixed.svg'
set title 'mixed'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 195.812
100000 195.843
1000000 196.003
EOD
$data1 << EOD
1000 5.949
100000 5.926
1000000 5.950
EOD
$data2 << EOD
1000 5.901
100000 5.934
1000000 5.938
EOD
$data3 << EOD
1000 4.239
100000 5.225
1000000 4.946
EOD
$data4 << EOD
1000 51.944
100000 53.938
1000000 48.913
EOD
$data5 << EOD
1000 44.821
100000 51.555
1000000 49.359
EOD
$data6 << EOD
1000 34.028
100000 30.902
1000000 30.657
EOD
set output 'docs/bench/idle.svg'
set title 'idle'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 45003.000
1000000 603108.000
EOD
$data1 << EOD
100000 802.000
1000000 2762.000
EOD
$data2 << EOD
100000 2733.000
1000000 19686.000
EOD
$data3 << EOD
100000 22941.000
1000000 28336.000
EOD
$data4 << EOD
100000 19328.000
1000000 39037.000
EOD
$data5 << EOD
100000 28808.000
1000000 97167.000
EOD
$data6 << EOD
100000 23454.000
1000000 92474.000
EOD
set output 'docs/bench/tail-p99-99.svg'
set title 'tail p99.99'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
100000 48898.000
1000000 613782.000
EOD
$data1 << EOD
100000 3665.000
1000000 6714.000
EOD
$data2 << EOD
100000 3205.000
1000000 20074.000
EOD
$data3 << EOD
100000 40377.000
1000000 60562.000
EOD
$data4 << EOD
100000 40932.000
1000000 54427.000
EOD
$data5 << EOD
100000 43428.000
1000000 491441.000
EOD
$data6 << EOD
100000 35578.000
1000000 108772.000
EOD
set output 'docs/bench/tail-longest.svg'
set title 'tail longest'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', 
set output
$data0 << EOD
1000 14.910
100000 164.967
1000000 269.963
EOD
$data1 << EOD
1000 24.670
100000 25.380
1000000 41.230
EOD
$data2 << EOD
1000 23.423
100000 56.189
1000000 82.809
EOD
$data3 << EOD
1000 53.772
100000 130.262
1000000 254.061
EOD
$data4 << EOD
1000 117.556
100000 202.651
1000000 445.965
EOD
$data5 << EOD
1000 184.066
100000 877.725
1000000 1075.766
EOD
$data6 << EOD
1000 104.395
100000 731.411
1000000 1192.850
EOD
$data7 << EOD
1000 997.461
EOD
set output 'docs/bench/burst.svg'
set title 'burst'
set ylabel 'ns'
plot $data0 using 1:2 with linespoints lw 2 title 'textbook', $data1 using 1:2 with linespoints lw 2 title 'verge', $data2 using 1:2 with linespoints lw 2 title 'verge-timeouts', $data3 using 1:2 with linespoints lw 2 title 'heap', $data4 using 1:2 with linespoints lw 2 title 'libev', $data5 using 1:2 with linespoints lw 2 title 'libuv', $data6 using 1:2 with linespoints lw 2 title 'libevent', $data7 using 1:2 with linespoints lw 2 title 'timerfd', 
set output
