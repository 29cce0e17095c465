// SPDX-License-Identifier: MIT
//
// verge/durable.hpp - durable timers for C++17 and later: handlers are lambdas, an exception means that the timer fires
// again later. Everything is in this header; link with libverge-durable.
//
//     verge::durable timers("postgresql:///shop");
//     timers.on("trial.end", [&](const verge::durable::firing &firing) { end_trial(firing.payload()); });
//     timers.start_after("trial.end", 30 * 24h, "customer 7");
//
// What a handler returns or throws decides what becomes of its timer (verge_durable_verdict):
//   void, VERGE_DURABLE_DONE                   the timer has ended; a recurring one waits for its next tick
//   any exception, VERGE_DURABLE_RETRY         what was written through the transaction is undone; fires again later
//   throw verge::retry_after(10min)            what was written is undone; fires again after this time
//   throw verge::give_up(), VERGE_DURABLE_DEAD what was written through the transaction is undone; the timer is dead
//
// What a handler does outside of its transaction is not undone, and happens again if the handler runs again.
//
// Functions throw std::system_error with the errno value of the C function. Any thread may call them. Handlers run on
// threads of the node, several at a time. Due times are times of the store's clock.
#ifndef VERGE_DURABLE_HPP
#define VERGE_DURABLE_HPP

#include <chrono>
#include <exception>
#include <forward_list>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "verge/durable.h"
#include "verge/verge.hpp"

namespace verge {

// A handler throws these. They are not errors of the program, so they are not derived from std::exception.
struct retry_after {
    template <class Rep, class Period>
    explicit retry_after(std::chrono::duration<Rep, Period> delay) : delay_ns(to_ns(delay)) {}
    std::uint64_t delay_ns;
};
struct give_up {};

// What became of a timer that was cancelled or moved (D5).
enum class outcome {
    done,    // the timer will not run, or not before the new time
    running, // its handler is running now
    gone,    // the timer has run, was given up or cancelled, or never existed
};

class durable {
  public:
    using id = verge_durable_id;
    using time_point = std::chrono::system_clock::time_point;

    // What a handler gets. It is valid until the handler returns.
    class firing {
      public:
        explicit firing(const verge_durable_firing *from) noexcept : from_(from) {}

        [[nodiscard]] id timer() const noexcept {
            return from_->id;
        }
        [[nodiscard]] std::string_view handler() const noexcept {
            return from_->handler;
        }
        [[nodiscard]] std::string_view payload() const noexcept {
            return {static_cast<const char *>(from_->payload), from_->payload_size};
        }
        [[nodiscard]] std::optional<std::string_view> key() const noexcept {
            if (from_->key == nullptr) {
                return std::nullopt;
            }
            return std::string_view(static_cast<const char *>(from_->key), from_->key_size);
        }
        [[nodiscard]] time_point due() const noexcept {
            return time_of(from_->due_ns);
        }
        [[nodiscard]] std::uint64_t missed() const noexcept {
            return from_->missed;
        }
        [[nodiscard]] unsigned attempt() const noexcept {
            return from_->attempt;
        }
        // Returns the transaction that deletes the timer: firing.transaction<PGconn>() or <sqlite3>(). For nullptr see
        // verge_durable_transaction.
        template <class Connection> [[nodiscard]] Connection *transaction() const {
            return static_cast<Connection *>(verge_durable_transaction(from_));
        }
        // Returns whether the handler should return soon: the node is being closed, or verge_durable_extend has
        // returned -ECANCELED.
        [[nodiscard]] bool should_stop() const noexcept {
            return verge_durable_should_stop(from_);
        }
        [[nodiscard]] const verge_durable_firing *get() const noexcept {
            return from_;
        }

      private:
        const verge_durable_firing *from_;
    };

    // Called with each exception that a handler threw, except retry_after and give_up, on the thread of the handler: to
    // log it, say. It must not throw.
    using exception_handler = std::function<void(const firing &, std::exception_ptr)>;

    // Opens a node with the default options, and creates the tables if there are none.
    explicit durable(const std::string &url, exception_handler on_exception = nullptr)
        : durable(options_for(url), std::move(on_exception)) {}

    explicit durable(const verge_durable_options &options, exception_handler on_exception = nullptr)
        : on_exception_(std::move(on_exception)) {
        check(verge_durable_open(&options, &durable_));
    }

    durable(const durable &) = delete;
    durable &operator=(const durable &) = delete;

    // Waits for the handlers that run. A handler must not call it.
    ~durable() {
        (void)verge_durable_close(durable_, VERGE_NEVER);
    }

    // The url must live until the node is open.
    [[nodiscard]] static verge_durable_options options_for(const std::string &url) {
        verge_durable_options options;
        check(verge_durable_options_init(&options, sizeof(options)));
        options.url = url.c_str();
        options.create = true;
        return options;
    }

    [[nodiscard]] static verge_durable_handler_options handler_options() {
        verge_durable_handler_options options;
        check(verge_durable_handler_options_init(&options, sizeof(options)));
        return options;
    }

    // For the functions of verge/durable.h.
    [[nodiscard]] verge_durable *get() const noexcept {
        return durable_;
    }

    // Registers a handler. It takes a `const firing &` or nothing, and returns void or a verge_durable_verdict. The
    // node may call the handler until this object is destroyed.
    template <class Handler>
    void on(const std::string &name, Handler handler,
            const verge_durable_handler_options &options = handler_options()) {
        std::lock_guard<std::mutex> guard(lock_);
        registered &added = handlers_.emplace_front(registered{this, wrap(std::move(handler))});
        const int error = verge_durable_register(durable_, name.c_str(), run, &added, &options);
        if (error != 0) {
            handlers_.pop_front();
            check(error);
        }
    }

    // The start functions start a timer and return its id. They return std::nullopt if a timer with that key is
    // pending. An empty key means no key.
    template <class Rep, class Period>
    std::optional<id> start_after(const std::string &handler, std::chrono::duration<Rep, Period> delay,
                                  std::string_view payload = {}, std::string_view key = {}) {
        verge_durable_request request = request_of(handler, payload, key);
        request.delay_ns = to_ns(delay);
        return start(request);
    }

    std::optional<id> start_at(const std::string &handler, time_point due, std::string_view payload = {},
                               std::string_view key = {}) {
        verge_durable_request request = request_of(handler, payload, key);
        request.due_ns = ns_of(due);
        return start(request);
    }

    // Starts a timer with a rule of verge/recurrence.h, such as "0 9 * * mon-fri Europe/Berlin". If ticks were missed,
    // it fires once for all of them.
    std::optional<id> start_by_rule(const std::string &handler, const std::string &rule, std::string_view payload = {},
                                    std::string_view key = {}) {
        verge_durable_request request = request_of(handler, payload, key);
        request.rule = rule.c_str();
        request.policy = VERGE_INTERVAL_SKIP;
        return start(request);
    }

    std::optional<id> start(const verge_durable_request &request) {
        id timer = 0;
        const int error = verge_durable_start(durable_, &request, &timer);
        return unless_taken(error, timer);
    }

    // Starts a timer in a transaction of the caller's: sqlite3 * or PGconn *.
    std::optional<id> start_in(void *transaction, verge_durable_request request) {
        request.transaction = transaction;
        return start(request);
    }

    // The strings must live until the request is used.
    [[nodiscard]] static verge_durable_request request_of(const std::string &handler, std::string_view payload = {},
                                                          std::string_view key = {}) {
        verge_durable_request request{};
        request.handler = handler.c_str();
        request.payload = payload.data();
        request.payload_size = payload.size();
        request.key = key.empty() ? nullptr : key.data();
        request.key_size = key.size();
        return request;
    }

    outcome cancel(id timer) {
        return outcome_of(verge_durable_cancel(durable_, timer));
    }

    outcome reset(id timer, time_point due) {
        return outcome_of(verge_durable_reset(durable_, timer, ns_of(due)));
    }

    [[nodiscard]] std::optional<id> find(const std::string &handler, std::string_view key) {
        id timer = 0;
        if (key.empty()) {
            return std::nullopt; // as for start: no key
        }
        const int error = verge_durable_find(durable_, handler.c_str(), key.data(), key.size(), &timer);
        if (error == -ENOENT) {
            return std::nullopt;
        }
        check(error);
        return timer;
    }

    // On all nodes, timers of the handler wait until resume is called.
    void pause(const std::string &handler) {
        check(verge_durable_pause(durable_, handler.c_str()));
    }
    void resume(const std::string &handler) {
        check(verge_durable_resume(durable_, handler.c_str()));
    }

    // Limits for all nodes together: how many threads run the handler at a time, and calls a second. 0: no limit.
    void limit(const std::string &handler, std::uint32_t concurrency, std::uint32_t rate) {
        check(verge_durable_limit(durable_, handler.c_str(), concurrency, rate));
    }

    // Returns a time that the store's clock has reached.
    [[nodiscard]] time_point now() const noexcept {
        return time_of(verge_durable_now(durable_));
    }

  private:
    struct registered {
        durable *owner;
        std::function<verge_durable_verdict(const firing &)> call;
    };

    template <class Handler> static std::function<verge_durable_verdict(const firing &)> wrap(Handler handler) {
        return [handler = std::move(handler)](const firing &fired) mutable -> verge_durable_verdict {
            if constexpr (std::is_invocable_v<Handler &, const firing &>) {
                if constexpr (std::is_void_v<std::invoke_result_t<Handler &, const firing &>>) {
                    handler(fired);
                    return VERGE_DURABLE_DONE;
                } else {
                    return handler(fired);
                }
            } else if constexpr (std::is_void_v<std::invoke_result_t<Handler &>>) {
                (void)fired;
                handler();
                return VERGE_DURABLE_DONE;
            } else {
                (void)fired;
                return handler();
            }
        };
    }

    // No exception gets into the C library.
    static verge_durable_verdict run(const verge_durable_firing *from) {
        const registered &called = *static_cast<const registered *>(from->context);
        const firing fired(from);
        try {
            return called.call(fired);
        } catch (const retry_after &retry) {
            verge_durable_retry_after(from, retry.delay_ns);
        } catch (const give_up &) {
            return VERGE_DURABLE_DEAD;
        } catch (...) {
            if (called.owner->on_exception_) {
                called.owner->on_exception_(fired, std::current_exception());
            }
        }
        return VERGE_DURABLE_RETRY;
    }

    static std::optional<id> unless_taken(int error, id timer) {
        if (error == -EEXIST) {
            return std::nullopt;
        }
        check(error);
        return timer;
    }

    static outcome outcome_of(int result) {
        if (result == -ENOENT) {
            return outcome::gone;
        }
        return check(result) == VERGE_RUNNING ? outcome::running : outcome::done;
    }

    static std::uint64_t ns_of(time_point time) {
        return to_ns(time.time_since_epoch());
    }

    static time_point time_of(std::uint64_t time_ns) noexcept {
        return time_point(std::chrono::duration_cast<time_point::duration>(
            std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(time_ns))));
    }

    verge_durable *durable_ = nullptr;
    exception_handler on_exception_;
    std::mutex lock_; // of handlers_
    std::forward_list<registered> handlers_;
};

} // namespace verge

#endif
