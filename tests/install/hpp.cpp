// SPDX-License-Identifier: MIT
//
// What verge.hpp promises, in C++17 and C++20. Exits with 0 if all of it holds; prints what does not.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <verge/verge.hpp>

using namespace std::chrono_literals;

namespace {

int failures = 0;
std::size_t allocations = 0;

void expect(bool holds, int line) {
    if (!holds) {
        std::printf("hpp.cpp:%d does not hold\n", line);
        failures++;
    }
}

#define EXPECT(condition) expect((condition), __LINE__)

const verge::time_point start{};

void times() {
    EXPECT(verge::to_ns(3us) == 3000);
    EXPECT(verge::to_ns(std::chrono::duration<double, std::nano>(1.5)) == 2); // rounded up
    EXPECT(verge::to_ns(-5s) == 0);
    EXPECT(verge::from_ns(7) == start + 7ns);
    EXPECT(verge::clock::now() > start);
    static_assert(verge::clock::is_steady);
}

void a_wheel() {
    verge::wheel wheel(start + 1s);
    EXPECT(wheel.now() == start + 1s && wheel.empty() && !wheel.next_wakeup());
    int data = 0;
    const verge_timer first = wheel.start_after(1s, &data);
    const verge_timer second = wheel.start(start + 3s);
    EXPECT(wheel.size() == 2 && wheel.next_wakeup() && *wheel.next_wakeup() >= start + 2s);
    EXPECT(wheel.cancel(second) && !wheel.cancel(second) && !wheel.reset(second, start + 4s));
    EXPECT(wheel.reset(first, start + 5s));
    std::vector<void *> seen;
    EXPECT(wheel.run(start + 6s, [&](const verge_expiry &expiry) { seen.push_back(expiry.data); }) == 1);
    EXPECT(seen.size() == 1 && seen[0] == &data);
    verge::wheel moved = std::move(wheel);
    EXPECT(moved.get() != nullptr && wheel.get() == nullptr);

    // If a callback throws, the other timers still run.
    (void)moved.start(start + 7s);
    (void)moved.start(start + 7s);
    int calls = 0;
    bool is_thrown = false;
    try {
        moved.run(start + 8s, [&](const verge_expiry &) {
            calls++;
            throw std::runtime_error("first");
        });
    } catch (const std::runtime_error &error) {
        is_thrown = std::string(error.what()) == "first";
    }
    EXPECT(calls == 2 && is_thrown && moved.empty());
}

void errors() {
    verge_wheel_options options = verge::wheel::options_at(start);
    options.precision_ns = 3;
    bool is_thrown = false;
    try {
        const verge::wheel wheel(options);
    } catch (const std::system_error &error) {
        is_thrown = error.code() == std::errc::invalid_argument;
    }
    EXPECT(is_thrown);
}

void callbacks() {
    int calls = 0;
    std::array<int *, 4> small{&calls, &calls, &calls, &calls};
    std::array<int *, 5> large{&calls, &calls, &calls, &calls, &calls};
    const std::size_t before = allocations;
    {
        verge::callback callback([small] { ++*small[0]; });
        callback();
        verge::callback moved(std::move(callback));
        moved();
        EXPECT(!callback && moved);
    }
    EXPECT(calls == 2 && allocations == before); // 32 bytes fit into the callback itself
    {
        verge::callback callback([large] { ++*large[0]; });
        verge::callback moved;
        moved = std::move(callback);
        moved();
    }
    EXPECT(calls == 3 && allocations == before + 1);
    auto only_moved = std::make_unique<int>(5);
    verge::callback callback([value = std::move(only_moved), &calls] { calls += *value; });
    callback();
    EXPECT(calls == 8);
}

void timers() {
    verge::loop loop(start);
    std::string called;
    {
        verge::timer a;
        verge::timer b;
        verge::timer gone;
        EXPECT(!a.pending() && !a.cancel());
        a.start(loop, start + 10ms, [&] { called += 'a'; });
        b.start_after(
            loop, 10ms, [&] { called += 'b'; }, 20ms);
        {
            verge::timer c;
            c.start_after(loop, 5ms, [&] { called += 'c'; }); // its destructor cancels it
        }
        EXPECT(a.pending() && loop.size() == 2 && loop.timeout_ms(start) == 11);
        EXPECT(loop.run(start + 12ms) == 2 && called == "ab");
        EXPECT(!a.pending() && b.pending());
        EXPECT(loop.run(start + 40ms) == 1 && called == "abb");
        EXPECT(b.cancel() && !b.cancel());
    }
    EXPECT(loop.size() == 0 && loop.timeout_ms(start) == -1);
}

// The callback of a timer starts that timer again with another callback, cancels it, and destroys it.
void timers_in_their_callbacks() {
    verge::loop loop(start);
    std::string called;
    verge::timer a;
    a.start_after(loop, 1ms, [&] {
        called += '1';
        a.start_after(loop, 0ms, [&called, padding = std::string("something to be freed")] { called += padding[0]; });
        called += '2';
    });
    loop.run(start + 5ms);
    EXPECT(called == "12"); // the timer that was started in the callback waits for the next run
    loop.run(start + 5ms);
    EXPECT(called == "12s");
    verge::timer period;
    period.start_after(
        loop, 1ms,
        [&] {
            called += 'p';
            period.cancel();
        },
        1ms);
    loop.run(start + 10ms);
    loop.run(start + 20ms);
    EXPECT(called == "12sp");
    auto owned = std::make_unique<verge::timer>();
    owned->start_after(
        loop, 1ms,
        [&, mark = std::make_unique<char>('d')] {
            owned.reset();
            called += *mark; // a callback that runs outlives its timer
        },
        1ms);
    loop.run(start + 30ms);
    loop.run(start + 40ms);
    EXPECT(called == "12spd" && loop.size() == 0);
}

void callbacks_that_throw() {
    verge::loop loop(start);
    int calls = 0;
    verge::timer a;
    verge::timer b;
    a.start_after(loop, 1ms, [&] {
        calls++;
        throw std::runtime_error("a");
    });
    b.start_after(loop, 1ms, [&] { calls++; });
    bool is_thrown = false;
    try {
        loop.run(start + 5ms);
    } catch (const std::runtime_error &) {
        is_thrown = true;
    }
    EXPECT(is_thrown && calls == 2);
    EXPECT(loop.run(start + 6ms) == 0); // it is thrown once
}

#if defined(VERGE_HAS_COROUTINES)

struct flow {
    struct promise_type {
        flow get_return_object() noexcept {
            return flow{std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept {
            return {};
        }
        std::suspend_always final_suspend() noexcept {
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() noexcept {
            std::abort();
        }
    };
    std::coroutine_handle<promise_type> handle;
};

flow sleeper(verge::loop &loop, std::string &said) {
    const std::size_t before = allocations;
    co_await loop.sleep_for(10ms);
    said += '1';
    co_await loop.sleep_until(loop.now() + 10ms);
    said += '2';
    EXPECT(allocations == before); // a sleep allocates nothing
}

void coroutines() {
    verge::loop loop(start);
    std::string said;
    said.reserve(16);
    verge::timer warm; // starting it makes the wheel allocate its memory
    warm.start_after(loop, 1ms, [] {});
    const flow one = sleeper(loop, said);
    loop.run(start + 15ms);
    EXPECT(said == "1");
    loop.run(start + 30ms);
    EXPECT(said == "12" && one.handle.done());
    one.handle.destroy();
    const flow other = sleeper(loop, said);
    EXPECT(loop.size() == 1);
    other.handle.destroy(); // and its timer with it
    EXPECT(loop.size() == 0 && loop.run(start + 1h) == 0);
}

#else

void coroutines() {}

#endif

} // namespace

void *operator new(std::size_t size) {
    allocations++;
    void *memory = std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void operator delete(void *memory) noexcept {
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

int main() {
    times();
    a_wheel();
    errors();
    callbacks();
    timers();
    timers_in_their_callbacks();
    callbacks_that_throw();
    coroutines();
    return failures == 0 ? 0 : 1;
}
