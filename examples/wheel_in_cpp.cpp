// SPDX-License-Identifier: MIT
//
// A wheel in C++: owned by a unique_ptr, durations from <chrono>, callbacks that are lambdas. The time is simulated, so
// an hour of it takes no time at all.
#include <verge/base.h>
#include <verge/histogram.h>
#include <verge/interval.h>
#include <verge/io.h>
#include <verge/metrics.h>
#include <verge/service.h>
#include <verge/task.h>
#include <verge/verge.h>
#include <verge/wheel.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class Timers {
  public:
    using Callback = std::function<void()>;

    Timers() {
        verge_wheel *wheel = nullptr;
        if (verge_wheel_create(nullptr, &wheel) < 0) {
            throw std::bad_alloc();
        }
        wheel_.reset(wheel);
    }

    verge_timer after(nanoseconds delay, Callback callback) {
        auto owned = std::make_unique<Callback>(std::move(callback));
        verge_timer timer = 0;
        const uint64_t deadline_ns = verge_wheel_now(wheel_.get()) + static_cast<uint64_t>(delay.count());
        const int error = verge_wheel_schedule(wheel_.get(), deadline_ns, owned.get(), &timer);
        if (error < 0) {
            throw std::runtime_error(verge_strerror(error));
        }
        callbacks_.emplace(timer, std::move(owned));
        return timer;
    }

    // False: it is too late, the timer has fired.
    bool cancel(verge_timer timer) {
        if (verge_wheel_cancel(wheel_.get(), timer, nullptr) < 0) {
            return false;
        }
        callbacks_.erase(timer);
        return true;
    }

    // Runs what is due until then, each at its own time. A callback may schedule and cancel as it likes.
    void run_until(nanoseconds time) {
        const auto now_ns = static_cast<uint64_t>(time.count());
        verge_expiry due{};
        while (verge_wheel_poll_to_next(wheel_.get(), now_ns, &due, 1) == 1) {
            const std::unique_ptr<Callback> callback = std::move(callbacks_.at(due.timer));
            callbacks_.erase(due.timer);
            (*callback)();
        }
    }

    nanoseconds now() const {
        return nanoseconds(verge_wheel_now(wheel_.get()));
    }

  private:
    struct Destroy {
        void operator()(verge_wheel *wheel) const {
            verge_wheel_destroy(wheel);
        }
    };
    std::unique_ptr<verge_wheel, Destroy> wheel_;
    std::unordered_map<verge_timer, std::unique_ptr<Callback>> callbacks_;
};

} // namespace

int main() {
    Timers timers;
    int beats = 0;
    nanoseconds last_beat = 0s;
    bool timed_out = false;

    std::function<void()> beat = [&] {
        beats++;
        last_beat = timers.now();
        timers.after(1min, beat);
    };
    timers.after(1min, beat);
    const verge_timer timeout = timers.after(30min, [&] { timed_out = true; });
    timers.after(10min, [&] { timers.cancel(timeout); });

    timers.run_until(1h);
    std::printf("%d beats, the last after %d minutes\n", beats,
                static_cast<int>(std::chrono::duration_cast<std::chrono::minutes>(last_beat).count()));
    return beats == 60 && last_beat == 1h && !timed_out && !timers.cancel(timeout) ? 0 : 1;
}
