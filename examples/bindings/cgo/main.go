// SPDX-License-Identifier: MIT

// Timers of a verge service that call Go functions. To build it, let pkg-config find an installed verge:
//
//	go build -o timers main.go
package main

/*
#cgo pkg-config: verge
#include <verge/service.h>

void fired(verge_firing *firing); // below, in Go

static inline int start_after(verge_service *service, uint64_t delay_ns, uintptr_t handle) {
    return verge_service_start_after(service, delay_ns, (verge_callback)fired, (void *)handle, NULL);
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime/cgo"
	"time"
	"unsafe"
)

// Service runs functions on a thread of verge's own.
type Service struct{ service *C.verge_service }

func check(result C.int) {
	if result < 0 {
		fmt.Fprintln(os.Stderr, C.GoString(C.verge_strerror(result)))
		os.Exit(1)
	}
}

// Open creates a service with one thread.
func Open() *Service {
	var options C.verge_service_options
	service := &Service{}
	check(C.verge_service_options_init(&options, C.size_t(unsafe.Sizeof(options))))
	options.thread_count = 1
	check(C.verge_service_create(&options, &service.service))
	return service
}

// Start calls the function after a delay.
func (service *Service) Start(delay time.Duration, function func()) {
	check(C.start_after(service.service, C.uint64_t(delay), C.uintptr_t(cgo.NewHandle(function))))
}

// Close waits for all timers.
func (service *Service) Close() {
	check(C.verge_service_wait_empty(service.service, C.UINT64_MAX))
	check(C.verge_service_destroy(service.service, nil, nil))
}

//export fired
func fired(firing *C.verge_firing) {
	handle := cgo.Handle(uintptr(firing.argument))
	function := handle.Value().(func())
	handle.Delete()
	function()
}

func main() {
	service := Open()
	service.Start(20*time.Millisecond, func() {
		fmt.Println("first")
		service.Start(10*time.Millisecond, func() { fmt.Println("second") })
	})
	service.Close()
	fmt.Println("done")
}
