// SPDX-License-Identifier: MIT
//
// verge/verge.hpp - wheels and loops for C++17 and later: objects that clean up after themselves, times of <chrono>,
// callbacks that are lambdas. Everything is in this header; link with libverge, or compile verge.c (make amalgamation)
// as C.
//
//     verge::loop loop;
//     verge::timer idle;
//     idle.start_after(loop, 30s, [&] { connection.close(); });       // call it again to push the timeout back
//     ...
//     poll(fds, n, loop.timeout_ms(verge::clock::now()));
//     loop.run(verge::clock::now());
//
// Errors are thrown as std::system_error with the errno value of the C function (generic category). A lambda of up to
// 32 bytes whose move cannot throw is stored in the timer, any other is allocated. A wheel, a loop and their timers are
// for one thread at a time.
#ifndef VERGE_VERGE_HPP
#define VERGE_VERGE_HPP

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "verge/loop.h"
#include "verge/wheel.h"

#if __cplusplus >= 202002L && defined(__has_include)
#if __has_include(<coroutine>)
#include <coroutine>
#define VERGE_HAS_COROUTINES 1
#endif
#endif

#if defined(VERGE_PRIVATE) && defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

namespace verge {

// ---- time ----

// The monotonic clock of the library, for <chrono>. Times of wheels and loops are time points of this clock. If you use
// another clock, convert its times to these.
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept {
        const verge_clock source = verge_clock_monotonic();
        return time_point(duration(static_cast<rep>(source.now_ns(source.context))));
    }
};

using time_point = clock::time_point;

// Converts a duration to ns, rounded up, so that no timer is early. A negative duration becomes 0.
template <class Rep, class Period> [[nodiscard]] std::uint64_t to_ns(std::chrono::duration<Rep, Period> time) {
    const auto rounded = std::chrono::ceil<clock::duration>(time).count();
    return rounded < 0 ? 0 : static_cast<std::uint64_t>(rounded);
}

[[nodiscard]] inline std::uint64_t to_ns(time_point time) {
    return to_ns(time.time_since_epoch());
}

[[nodiscard]] inline time_point from_ns(std::uint64_t time_ns) noexcept {
    return time_point(clock::duration(static_cast<clock::rep>(time_ns)));
}

// ---- errors ----

// Throws if a function of the library has failed.
inline int check(int result) {
    if (result < 0) {
        throw std::system_error(-result, std::generic_category(), verge_strerror(result));
    }
    return result;
}

// ---- a wheel ----

class wheel {
  public:
    // A wheel with the default options, whose time begins at start.
    explicit wheel(time_point start = time_point()) : wheel(options_at(start)) {}

    explicit wheel(const verge_wheel_options &options) {
        verge_wheel *created = nullptr;
        check(verge_wheel_create(&options, &created));
        wheel_.reset(created);
    }

    [[nodiscard]] static verge_wheel_options options_at(time_point start) {
        verge_wheel_options options;
        check(verge_wheel_options_init(&options, sizeof(options), VERGE_PRESET_DEFAULT));
        options.start_ns = to_ns(start);
        return options;
    }

    // The C object, for the functions of verge/wheel.h.
    [[nodiscard]] verge_wheel *get() const noexcept {
        return wheel_.get();
    }

    verge_timer start(time_point deadline, void *data = nullptr) {
        verge_timer timer = 0;
        check(verge_wheel_start(get(), to_ns(deadline), data, &timer));
        return timer;
    }

    template <class Rep, class Period>
    verge_timer start_after(std::chrono::duration<Rep, Period> delay, void *data = nullptr) {
        return start(now() + std::chrono::ceil<clock::duration>(delay), data);
    }

    // False: the timer has fired or was cancelled.
    bool cancel(verge_timer timer) noexcept {
        return verge_wheel_cancel(get(), timer, nullptr) == 0;
    }

    // False: the timer has fired or was cancelled.
    [[nodiscard]] bool reset(verge_timer timer, time_point deadline) {
        const int result = verge_wheel_reset(get(), timer, to_ns(deadline));
        return result != -ENOENT && result != -EBADF && check(result) == 0;
    }

    // Calls on_expiry(const verge_expiry &) for each due timer, and returns how many there were. on_expiry may make any
    // call on the wheel. If it throws, the remaining due timers are still passed to it; then the first exception is
    // thrown again.
    template <class Function> std::size_t run(time_point at, Function &&on_expiry) {
        struct state {
            std::remove_reference_t<Function> *function;
            std::exception_ptr thrown;
        } context{&on_expiry, nullptr};
        const std::size_t count = verge_wheel_run(
            get(), to_ns(at),
            [](void *pointer, const verge_expiry *expiry) noexcept {
                state &self = *static_cast<state *>(pointer);
                try {
                    (*self.function)(*expiry);
                } catch (...) {
                    self.thrown = self.thrown ? self.thrown : std::current_exception();
                }
            },
            &context);
        if (context.thrown) {
            std::rethrow_exception(context.thrown);
        }
        return count;
    }

    // No timer is due before this time. Empty: no timer is pending.
    [[nodiscard]] std::optional<time_point> next_wakeup() const noexcept {
        const std::uint64_t wakeup_ns = verge_wheel_next_wakeup(get());
        return wakeup_ns == VERGE_NEVER ? std::nullopt : std::optional<time_point>(from_ns(wakeup_ns));
    }

    [[nodiscard]] time_point now() const noexcept {
        return from_ns(verge_wheel_now(get()));
    }

    [[nodiscard]] std::size_t size() const noexcept {
        return verge_wheel_count(get());
    }

    [[nodiscard]] bool empty() const noexcept {
        return size() == 0;
    }

  private:
    struct destroy {
        void operator()(verge_wheel *wheel) const noexcept {
            verge_wheel_destroy(wheel);
        }
    };
    std::unique_ptr<verge_wheel, destroy> wheel_;
};

// ---- callbacks ----

// Holds any callable object without arguments: inside if it is small and its move cannot throw, otherwise allocated.
class callback {
  public:
    static constexpr std::size_t inline_size = 32;

    callback() noexcept = default;

    template <class Function, class Stored = std::decay_t<Function>,
              class = std::enable_if_t<!std::is_same_v<Stored, callback> && std::is_invocable_v<Stored &>>>
    callback(
        Function &&function) { // NOLINT(google-explicit-constructor): a lambda is passed where a callback is wanted
        if constexpr (fits<Stored>) {
            ::new (static_cast<void *>(storage_)) Stored(std::forward<Function>(function));
            kind_ = &kind_of<Stored, true>;
        } else {
            ::new (static_cast<void *>(storage_)) Stored *(new Stored(std::forward<Function>(function)));
            kind_ = &kind_of<Stored, false>;
        }
    }

    callback(callback &&other) noexcept {
        take(other);
    }

    callback &operator=(callback &&other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }

    callback(const callback &) = delete;
    callback &operator=(const callback &) = delete;

    ~callback() {
        reset();
    }

    void operator()() {
        kind_->call(storage_);
    }

    [[nodiscard]] explicit operator bool() const noexcept {
        return kind_ != nullptr;
    }

    void reset() noexcept {
        if (kind_ != nullptr) {
            kind_->destroy(storage_);
            kind_ = nullptr;
        }
    }

    template <class Stored>
    static constexpr bool
        fits = sizeof(Stored) <= inline_size &&
               alignof(Stored) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Stored>;

  private:
    struct kind {
        void (*call)(unsigned char *storage);
        void (*move)(unsigned char *from, unsigned char *to) noexcept;
        void (*destroy)(unsigned char *storage) noexcept;
    };

    template <class Type> static Type &in(unsigned char *storage) noexcept {
        return *std::launder(reinterpret_cast<Type *>(storage));
    }

    template <class Stored, bool IsInline>
    static constexpr kind kind_of = {
        [](unsigned char *storage) {
            if constexpr (IsInline) {
                in<Stored>(storage)();
            } else {
                (*in<Stored *>(storage))();
            }
        },
        [](unsigned char *from, unsigned char *to) noexcept {
            if constexpr (IsInline) {
                ::new (static_cast<void *>(to)) Stored(std::move(in<Stored>(from)));
                in<Stored>(from).~Stored();
            } else {
                ::new (static_cast<void *>(to)) Stored *(in<Stored *>(from));
            }
        },
        [](unsigned char *storage) noexcept {
            if constexpr (IsInline) {
                in<Stored>(storage).~Stored();
            } else {
                delete in<Stored *>(storage);
            }
        },
    };

    void take(callback &other) noexcept {
        kind_ = std::exchange(other.kind_, nullptr);
        if (kind_ != nullptr) {
            kind_->move(other.storage_, storage_);
        }
    }

    const kind *kind_ = nullptr;
    alignas(std::max_align_t) unsigned char storage_[inline_size];
};

// ---- a loop, and timers that call back ----

class timer;

// A wheel whose timers call back (verge/loop.h, E1 to E5). It cannot be copied or moved. Destroy it after the timers
// that were started on it.
class loop {
  public:
    explicit loop(time_point start = clock::now()) : wheel_(start) {
        check(verge_loop_init(&loop_, wheel_.get()));
    }

    loop(const loop &) = delete;
    loop &operator=(const loop &) = delete;

    // How long the event loop may sleep: an argument for poll and epoll_wait.
    [[nodiscard]] int timeout_ms(time_point at) const {
        return verge_loop_timeout(wheel_.get(), to_ns(at), 1000000);
    }

    [[nodiscard]] std::optional<time_point> next_wakeup() const noexcept {
        return wheel_.next_wakeup();
    }

    // Calls back all due timers. If a callback throws, the others are still called; then the first exception is thrown
    // again. A callback may call run: that run throws what its own callbacks have thrown.
    std::size_t run(time_point at) {
        std::exception_ptr thrown_outside = std::exchange(thrown_, nullptr);
        const std::size_t count = verge_loop_run(&loop_, to_ns(at));
        if (const std::exception_ptr thrown = std::exchange(thrown_, std::move(thrown_outside))) {
            std::rethrow_exception(thrown);
        }
        return count;
    }

    // The time of the last run.
    [[nodiscard]] time_point now() const noexcept {
        return wheel_.now();
    }

    // The number of pending timers.
    [[nodiscard]] std::size_t size() const noexcept {
        return wheel_.size();
    }

#if defined(VERGE_HAS_COROUTINES)
    class sleep_awaiter;

    // co_await loop.sleep_for(10ms): the first run at or after that time resumes the coroutine. If the coroutine is
    // destroyed before, its timer is cancelled.
    template <class Rep, class Period> [[nodiscard]] sleep_awaiter sleep_for(std::chrono::duration<Rep, Period> delay);
    [[nodiscard]] sleep_awaiter sleep_until(time_point time);
#endif

  private:
    friend class timer;
    wheel wheel_;
    verge_loop loop_{};
    std::exception_ptr thrown_; // the first exception of the innermost run
};

// A timer of a loop. It cannot be copied or moved, and its destructor cancels it. Its callback may cancel it, destroy
// it, or start it again, even with another callback. It may also run the loop: if the timer is due then, its callback
// is called again, inside its first call.
class timer {
  public:
    timer() noexcept = default;
    timer(const timer &) = delete;
    timer &operator=(const timer &) = delete;

    ~timer() {
        cancel();
        for (calling *one = calling_; one != nullptr; one = one->outer) {
            one->is_destroyed = true;
        }
    }

    // Starts the timer, or moves it if it is started already. The function is called when the deadline has come and, if
    // there is a period, again after each period.
    template <class Function>
    void start(loop &at, time_point deadline, Function &&function, clock::duration period = clock::duration::zero()) {
        callback next(std::forward<Function>(function));
        if (loop_ != &at) {
            cancel();
        }
        check(verge_loop_start(&at.loop_, &timer_, called_back, this, to_ns(deadline), to_ns(period)));
        loop_ = &at;
        const callback before = std::exchange(function_, std::move(next)); // destroyed last: it may own this timer
    }

    // As start, with a delay, which counts from the time of the loop's last run.
    template <class Rep, class Period, class Function>
    void start_after(loop &at, std::chrono::duration<Rep, Period> delay, Function &&function,
                     clock::duration period = clock::duration::zero()) {
        start(at, at.now() + std::chrono::ceil<clock::duration>(delay), std::forward<Function>(function), period);
    }

    // False: the timer is not pending.
    bool cancel() noexcept {
        return loop_ != nullptr && verge_loop_cancel(&loop_->loop_, &timer_) == 0;
    }

    [[nodiscard]] bool pending() const noexcept {
        return verge_loop_is_pending(&timer_);
    }

  private:
    static void called_back(void *data, verge_loop_timer *) noexcept {
        static_cast<timer *>(data)->call();
    }

    // A callback that is being called. It was moved out of the timer, so that it may destroy or restart the timer.
    // `outer` is not null if an outer callback of this timer has restarted it with another callback, and then has run
    // the loop.
    struct calling {
        callback function;
        calling *outer;
        bool is_destroyed; // the timer
    };

    void call() noexcept {
        if (!function_) { // the callback is being called, and has run the loop
            invoke(*loop_, calling_->function);
            return;
        }
        calling own{std::move(function_), calling_, false};
        calling_ = &own;
        invoke(*loop_, own.function);
        if (own.is_destroyed) {
            return;
        }
        calling_ = own.outer;
        if (!function_) {
            function_ = std::move(own.function);
        }
    }

    static void invoke(loop &at, callback &function) noexcept {
        try {
            function();
        } catch (...) {
            at.thrown_ = at.thrown_ ? at.thrown_ : std::current_exception();
        }
    }

    verge_loop_timer timer_{};
    loop *loop_ = nullptr;
    calling *calling_ = nullptr;
    callback function_;
};

#if defined(VERGE_HAS_COROUTINES)

class loop::sleep_awaiter {
  public:
    sleep_awaiter(loop &at, time_point time) noexcept : loop_(at), time_(time) {}

    [[nodiscard]] bool await_ready() const noexcept {
        return false;
    }

    void await_suspend(std::coroutine_handle<> coroutine) {
        timer_.start(loop_, time_, [coroutine] { coroutine.resume(); });
    }

    void await_resume() const noexcept {}

  private:
    loop &loop_;
    time_point time_;
    timer timer_; // in the coroutine's frame, so nothing is allocated
};

template <class Rep, class Period> loop::sleep_awaiter loop::sleep_for(std::chrono::duration<Rep, Period> delay) {
    return sleep_awaiter(*this, now() + std::chrono::ceil<clock::duration>(delay));
}

inline loop::sleep_awaiter loop::sleep_until(time_point time) {
    return sleep_awaiter(*this, time);
}

#endif

} // namespace verge

#if defined(VERGE_PRIVATE) && defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
