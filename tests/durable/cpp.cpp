// SPDX-License-Identifier: MIT
// What verge/durable.hpp promises, on SQLite: cpp URL.
#include <sqlite3.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>
#include <verge/durable.hpp>

using namespace std::chrono_literals;

#define MUST(condition) must(condition, #condition, __LINE__)

static void must(bool holds, const char *what, int line) {
    if (!holds) {
        std::fprintf(stderr, "cpp.cpp:%d: %s\n", line, what);
        std::exit(1);
    }
}

// How often a handler was called; a test waits for a number.
class calls {
  public:
    void add(const std::string &name) {
        std::lock_guard<std::mutex> guard(lock_);
        counts_[name]++;
        changed_.notify_all();
    }
    void wait_for(const std::string &name, int count) {
        std::unique_lock<std::mutex> guard(lock_);
        MUST(changed_.wait_for(guard, 60s, [&] { return counts_[name] >= count; }));
    }
    int of(const std::string &name) {
        std::lock_guard<std::mutex> guard(lock_);
        return counts_[name];
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::map<std::string, int> counts_;
};

static verge_durable_info info_of(verge::durable &timers, verge::durable::id id) {
    verge_durable_info info;
    MUST(verge_durable_get(timers.get(), id, &info, nullptr, 0) == 0);
    return info;
}

template <class Function> static int error_of(Function function) {
    try {
        function();
    } catch (const std::system_error &error) {
        return error.code().value();
    }
    return 0;
}

static int64_t count_rows(sqlite3 *db) {
    sqlite3_stmt *statement = nullptr;
    MUST(sqlite3_prepare_v2(db, "SELECT count(*) FROM written", -1, &statement, nullptr) == SQLITE_OK);
    MUST(sqlite3_step(statement) == SQLITE_ROW);
    const int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    calls called;
    std::atomic<int> exceptions{0};
    std::string seen;
    sqlite3 *db = nullptr;
    MUST(sqlite3_open(argv[1] + sizeof("sqlite:") - 1, &db) == SQLITE_OK);
    MUST(sqlite3_busy_timeout(db, 60000) == SQLITE_OK);
    MUST(sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE written (id)", nullptr, nullptr, nullptr) ==
         SQLITE_OK);
    {
        verge::durable timers(argv[1], [&](const verge::durable::firing &firing, std::exception_ptr exception) {
            MUST(firing.handler() == "throws");
            try {
                std::rethrow_exception(exception);
            } catch (const std::runtime_error &error) {
                MUST(std::string_view(error.what()) == "not yet");
            }
            exceptions++;
        });
        verge_durable_handler_options soon = verge::durable::handler_options();
        soon.backoff_first_ns = soon.backoff_max_ns = 1000000;

        // A lambda with state gets what was scheduled.
        timers.on("plain", [&called, &seen](const verge::durable::firing &firing) {
            seen = std::string(firing.payload()) + "/" + std::string(firing.key().value_or("none"));
            MUST(firing.attempt() == 1 && firing.missed() == 0 && firing.timer() != 0);
            MUST(firing.due() > verge::durable::time_point());
            called.add("plain");
        });
        MUST(timers.start_after("plain", 1ms, "pay\xff", "key").has_value());
        called.wait_for("plain", 1);
        MUST(seen == "pay\xff/key");
        MUST(timers.start_at("plain", timers.now()).has_value());
        called.wait_for("plain", 2);
        MUST(seen == "/none");

        // Handlers without an argument, and with a verdict.
        timers.on("bare", [&] { called.add("bare"); });
        timers.on(
            "verdict",
            [&] {
                called.add("verdict");
                return called.of("verdict") < 2 ? VERGE_DURABLE_RETRY : VERGE_DURABLE_DONE;
            },
            soon);
        timers.start_after("bare", 0s);
        timers.start_after("verdict", 0s);
        called.wait_for("bare", 1);
        called.wait_for("verdict", 2);

        // An exception means retry: what the attempt wrote is undone. In the end, it is written once.
        timers.on(
            "throws",
            [&](const verge::durable::firing &firing) {
                sqlite3 *transaction = firing.transaction<sqlite3>();
                MUST(sqlite3_exec(transaction, "INSERT INTO written VALUES (1)", nullptr, nullptr, nullptr) ==
                     SQLITE_OK);
                called.add("throws");
                if (firing.attempt() < 3) {
                    throw std::runtime_error("not yet");
                }
            },
            soon);
        const auto thrown = timers.start_after("throws", 0s);
        called.wait_for("throws", 3);
        while (timers.cancel(*thrown) != verge::outcome::gone) { // until its last transaction is committed
            std::this_thread::yield();
        }
        MUST(exceptions == 2 && count_rows(db) == 1);

        // The next attempt comes after the time that the exception gives. The backoff would be an hour.
        verge_durable_handler_options late = verge::durable::handler_options();
        late.backoff_first_ns = late.backoff_max_ns = 3600000000000;
        timers.on(
            "later",
            [&](const verge::durable::firing &firing) {
                called.add("later");
                if (firing.attempt() == 1) {
                    throw verge::retry_after(5ms);
                }
            },
            late);
        timers.start_after("later", 0s);
        called.wait_for("later", 2);

        // Giving up: the timer is dead.
        timers.on("gives.up", [&] {
            called.add("gives.up");
            throw verge::give_up();
        });
        const auto dead = timers.start_after("gives.up", 0s, "", "dead");
        called.wait_for("gives.up", 1);
        while (info_of(timers, *dead).died_ns == 0) {
            std::this_thread::yield();
        }

        // Keys, cancel, reset, find, rules, and a transaction of one's own.
        const auto far = timers.start_after("nobody", 24h, "", "one");
        MUST(far && !timers.start_after("nobody", 24h, "", "one"));
        MUST(timers.find("nobody", "one") == far && !timers.find("nobody", "two"));
        MUST(timers.reset(*far, timers.now() + 48h) == verge::outcome::done);
        MUST(timers.cancel(*far) == verge::outcome::done && timers.cancel(*far) == verge::outcome::gone);
        const auto daily = timers.start_by_rule("nobody", "@daily");
        MUST(std::string_view(info_of(timers, *daily).rule) == "@daily");
        MUST(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
        const std::string handler = "nobody";
        MUST(timers.start_in(db, verge::durable::request_of(handler, "mine", "three")).has_value());
        MUST(sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
        MUST(!timers.find("nobody", "three") && !timers.find("nobody", std::string_view()));

        // Handlers of the whole cluster, and a handler that is told to stop when the node is closed.
        verge_durable_control control;
        timers.pause("nobody");
        timers.limit("nobody", 2, 3);
        MUST(verge_durable_list_controls(timers.get(), &control, 1) == 1);
        MUST(std::string_view(control.handler) == "nobody" && control.is_paused);
        MUST(control.concurrency == 2 && control.rate == 3);
        timers.resume("nobody");
        timers.limit("nobody", 0, 0);
        MUST(verge_durable_list_controls(timers.get(), &control, 1) == 0);
        MUST(error_of([&] { timers.pause("no spaces"); }) == EINVAL);
        verge_durable_handler_options outside = verge::durable::handler_options();
        outside.outside = true;
        timers.on(
            "stops",
            [&](const verge::durable::firing &firing) {
                called.add("stops");
                while (!firing.should_stop()) {
                    std::this_thread::yield();
                }
            },
            outside);
        timers.start_after("stops", 0s);
        called.wait_for("stops", 1);

        // Errors.
        MUST(error_of([&] { timers.on("bare", [] {}); }) == EEXIST);
        MUST(error_of([&] { timers.on("no spaces", [] {}); }) == EINVAL);
        MUST(error_of([&] { timers.start_by_rule("nobody", "never"); }) == EINVAL);
        MUST(error_of([&] { verge::durable other("nothing:of/this"); }) == EINVAL);
        MUST(exceptions == 2);
    }
    MUST(sqlite3_close(db) == SQLITE_OK);
    std::puts("fine");
    return 0;
}
