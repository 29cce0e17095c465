#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An event loop in Python, with the timers of libverge: loop.py [PATH OF libverge.so]"""
import ctypes, os, selectors, socket, sys, time

verge = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libverge.so")
verge.verge_size_of.restype = ctypes.c_size_t


def check(result):
    if result < 0:
        raise OSError(-result, os.strerror(-result))


class Loop:
    def __init__(self):
        self.wheel, self.timers, self.selector = ctypes.c_void_p(), {}, selectors.DefaultSelector()
        self.memory = ctypes.create_string_buffer(verge.verge_size_of(b"verge_loop"))
        self.called_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self.call)
        check(verge.verge_wheel_create(None, ctypes.byref(self.wheel)))
        check(verge.verge_loop_init(self.memory, self.wheel))

    def start(self, seconds, function, period=0):  # returns the timer
        timer = ctypes.create_string_buffer(verge.verge_size_of(b"verge_loop_timer"))
        deadline = ctypes.c_uint64(time.monotonic_ns() + int(seconds * 1e9))
        address, repeat = ctypes.addressof(timer), ctypes.c_uint64(int(period * 1e9))
        check(verge.verge_loop_start(self.memory, timer, self.called_back, ctypes.c_void_p(address), deadline, repeat))
        self.timers[address] = timer, function, period
        return timer

    def cancel(self, timer):
        if self.timers.pop(ctypes.addressof(timer), None):
            check(verge.verge_loop_cancel(self.memory, timer))

    def call(self, address, _):
        _, function, period = self.timers[address]
        period or self.timers.pop(address)
        function()

    def run(self):  # until there is nothing to wait for
        while self.timers or self.selector.get_map():
            ms = verge.verge_loop_timeout(self.wheel, ctypes.c_uint64(time.monotonic_ns()), ctypes.c_uint64(1000000))
            for key, _ in self.selector.select(None if ms < 0 else ms / 1000):
                key.data()
            verge.verge_loop_run(self.memory, ctypes.c_uint64(time.monotonic_ns()))
        verge.verge_wheel_destroy(self.wheel)


def readable():
    print(text := here.recv(10).decode())
    if text == "three":
        loop.selector.unregister(here)
        loop.cancel(ticker), loop.cancel(give_up)


loop, (here, there), texts = Loop(), socket.socketpair(), iter((b"one", b"two", b"three"))
ticker = loop.start(0.01, lambda: there.send(next(texts)), period=0.01)
give_up = loop.start(60, lambda: os._exit(1))
loop.selector.register(here, selectors.EVENT_READ, readable)
loop.run()
