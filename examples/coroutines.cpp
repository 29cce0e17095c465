// SPDX-License-Identifier: MIT
//
// Coroutines of C++20 that sleep on a wheel: no thread, no stack of their own, and no allocation for a sleep, as the
// timer lies in the frame of the coroutine. Two greeters and one that gives up take turns on one thread, in simulated
// time.
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>

#include <verge/verge.hpp>

using namespace std::chrono_literals;

namespace {

// A coroutine that begins at once and that nobody waits for.
struct flow {
    struct promise_type {
        flow get_return_object() noexcept {
            return {};
        }
        std::suspend_never initial_suspend() noexcept {
            return {};
        }
        std::suspend_never final_suspend() noexcept {
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() {
            std::terminate();
        }
    };
};

std::string said;

flow greet(verge::loop &loop, char name, std::chrono::milliseconds period, int times) {
    for (int i = 0; i < times; i++) {
        co_await loop.sleep_for(period);
        said += name;
    }
}

flow give_up(verge::loop &loop, verge::time_point deadline) {
    co_await loop.sleep_until(deadline);
    said += '!';
}

} // namespace

int main() {
    const verge::time_point start{};
    verge::loop loop(start);
    greet(loop, 'a', 20ms, 5);
    greet(loop, 'b', 50ms, 2);
    give_up(loop, start + 1h);
    while (const auto next = loop.next_wakeup()) {
        loop.run(*next);
    }
    std::printf("%s\n", said.c_str());
    return said == "aabaaba!" ? 0 : 1;
}
