// SPDX-License-Identifier: MIT
// Measures with goroutines what bench/tasks/task_share.c measures with tasks: two that send each other messages, and a
// tree of a million that are spawned and joined.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"time"
)

func pingpong(rounds int) float64 {
	there, back := make(chan int, 1), make(chan int, 1)
	go func() {
		for item := range there {
			back <- item
		}
	}()
	begin := time.Now()
	for i := 0; i < rounds; i++ {
		there <- i
		if <-back != i {
			panic("each message is answered")
		}
	}
	close(there)
	return float64(time.Since(begin).Nanoseconds()) / float64(rounds)
}

func grow(depth, width int) int {
	sum := 1
	for i := 0; i < width && depth > 0; i++ {
		joined := make(chan int, 1)
		go func() { joined <- grow(depth-1, width) }()
		sum += <-joined
	}
	return sum
}

func tree(width int) float64 {
	const branches = 16
	joined := make(chan int, branches)
	begin := time.Now()
	for i := 0; i < branches; i++ {
		go func() { joined <- grow(2, width) }()
	}
	sum := 0
	for i := 0; i < branches; i++ {
		sum += <-joined
	}
	return float64(time.Since(begin).Nanoseconds()) / float64(sum)
}

func median(measure func() float64) float64 {
	values := make([]float64, 5)
	for i := range values {
		values[i] = measure()
	}
	sort.Float64s(values)
	return values[2]
}

func main() {
	rounds, width := 200000, 256
	if len(os.Args) > 1 { // quick
		rounds, width = 20000, 64
	}
	one := 0.0
	for _, workers := range []int{1, 2} {
		runtime.GOMAXPROCS(workers)
		name := fmt.Sprintf("%s, GOMAXPROCS %d", runtime.Version(), workers)
		task := median(func() float64 { return tree(width) })
		fmt.Printf("    %-28s pingpong %5.0f ns a round, tree %5.0f ns a task\n", name,
			median(func() float64 { return pingpong(rounds) }), task)
		if workers == 1 {
			one = task
		} else {
			fmt.Printf("    %-28s tree on two to one: %.2f times as fast\n", "", one/task)
		}
	}
}
