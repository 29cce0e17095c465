// SPDX-License-Identifier: MIT
//
// Timers in C++: durations from <chrono>, callbacks that are lambdas. The time is simulated, so an hour of it takes no
// time at all.
#include <chrono>
#include <cstdio>

#include <verge/verge.hpp>

using namespace std::chrono_literals;

int main() {
    const verge::time_point start{};
    verge::loop loop(start);
    int beats = 0;
    verge::time_point last_beat;
    bool timed_out = false;

    verge::timer beat;
    verge::timer timeout;
    verge::timer rescue;
    beat.start(
        loop, start + 1min,
        [&] {
            beats++;
            last_beat = loop.now();
        },
        1min);
    timeout.start(loop, start + 30min, [&] { timed_out = true; });
    rescue.start(loop, start + 10min, [&] { timeout.cancel(); });

    for (auto next = loop.next_wakeup(); next && *next < start + 61min; next = loop.next_wakeup()) {
        loop.run(*next); // from event to event
    }
    std::printf("%d beats, the last after %d minutes\n", beats,
                static_cast<int>(std::chrono::duration_cast<std::chrono::minutes>(last_beat - start).count()));
    return beats == 60 && !timed_out && !timeout.pending() && beat.pending() ? 0 : 1;
}
