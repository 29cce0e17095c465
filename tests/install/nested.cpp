// SPDX-License-Identifier: MIT
//
// Timers of verge.hpp whose callbacks start, cancel and destroy timers, throw, and run the loop again, compared with
// simple code: an array that is searched for the next timer to call back. Exits with 0 if both agree. It prints its
// seed, and VERGE_TEST_SEED repeats it.
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <verge/verge.hpp>

namespace {

void expect(bool holds, int line) {
    if (!holds) {
        std::printf("nested.cpp:%d does not hold\n", line);
        std::exit(1);
    }
}

#define EXPECT(condition) expect((condition), __LINE__)

constexpr std::size_t timer_count = 12;
constexpr std::size_t nested_max = 3;
constexpr int rounds = 4000;

// A part of each callback that is on the heap, so that AddressSanitizer finds a use of a callback after its end.
struct token {
    static inline long alive = 0;

    explicit token(std::uint64_t number) : id(number) {
        alive++;
    }
    ~token() {
        alive--;
    }
    token(const token &) = delete;
    token &operator=(const token &) = delete;

    std::uint64_t id;
};

struct modelled {
    std::unique_ptr<verge::timer> timer = std::make_unique<verge::timer>();
    bool is_active = false;
    bool is_of_this_round = false; // it was due when a run began, and was not started or cancelled since
    std::uint64_t deadline = 0;
    std::uint64_t start = 0;
    std::uint64_t period = 0;
    std::uint64_t function = 0; // the id of its callback
};

struct run {
    std::size_t calls = 0;
    std::uint64_t starts_before = 0;     // how many starts there had been when the run began
    std::optional<std::uint64_t> thrown; // the first exception of a callback of this run
};

class world {
  public:
    explicit world(std::uint64_t seed) : random_(seed), loop_(time(0)) {}

    std::uint64_t calls_of_running = 0; // calls of a callback that had not returned from an earlier call

    void play() {
        for (int round = 0; round < rounds; round++) {
            for (std::uint64_t count = below(4); count > 0; count--) {
                act_on_some();
            }
            run_once();
        }
        for (modelled &one : timers_) {
            one.timer.reset();
        }
        EXPECT(loop_.size() == 0 && token::alive == 0);
    }

    void called(std::size_t slot, const token &mine) {
        modelled &one = timers_[slot];
        // Timers are called back in order. But in a run inside a run, timers that were started in the outer run may
        // come first.
        EXPECT(one.function == mine.id && one.is_of_this_round);
        const bool may_come_first = runs_.size() > 1 && one.start > runs_.front().starts_before;
        EXPECT(may_come_first || is_first(one));
        EXPECT(one.deadline <= now_);
        runs_.back().calls++;
        one.is_of_this_round = false;
        one.is_active = one.period != 0;
        if (one.is_active) {
            one.deadline = now_ + one.period;
            one.start = ++starts_;
        }
        EXPECT(one.timer->pending() == one.is_active);

        const std::uint64_t id = mine.id;
        for (const std::uint64_t other : running_) {
            calls_of_running += other == id ? 1 : 0;
        }
        running_.push_back(id);
        std::optional<std::uint64_t> thrown;
        for (std::uint64_t count = below(4); count > 0 && !thrown; count--) {
            if (below(3) == 0 && runs_.size() <= nested_max) {
                thrown = run_once();
            } else {
                act_on_some();
            }
        }
        running_.pop_back();
        EXPECT(mine.id == id); // a callback outlives its timer
        thrown = below(8) == 0 ? id : below(2) == 0 ? thrown : std::nullopt;
        if (thrown) {
            run &current = runs_.back();
            current.thrown = current.thrown ? current.thrown : thrown;
            throw *thrown;
        }
    }

  private:
    struct small {
        world *owner;
        std::size_t slot;
        std::unique_ptr<token> mine;

        void operator()() {
            owner->called(slot, *mine);
        }
    };
    struct large : small {
        std::array<char, verge::callback::inline_size> padding{};
    };

    static verge::time_point time(std::uint64_t ticks) { // ticks of a default wheel
        return verge::from_ns(ticks << 20);
    }

    std::uint64_t below(std::uint64_t bound) {
        return random_() % bound;
    }

    void act_on_some() {
        const std::size_t slot = below(timer_count);
        modelled &one = timers_[slot];
        one.is_of_this_round = false;
        switch (below(4)) {
        case 0:
            EXPECT(one.timer->cancel() == one.is_active);
            one.is_active = false;
            break;
        case 1:
            one.timer = nullptr;
            one.timer = std::make_unique<verge::timer>();
            one.is_active = false;
            break;
        default:
            start(slot);
        }
        EXPECT(one.timer->pending() == one.is_active);
    }

    void start(std::size_t slot) {
        modelled &one = timers_[slot];
        one.deadline = now_ + (below(3) == 0 ? 0 : below(30));
        one.period = below(2) == 0 ? 1 + below(10) : 0;
        one.function = ++functions_;
        one.start = ++starts_;
        one.is_active = true;
        const verge::clock::duration period = time(one.period).time_since_epoch();
        small function{this, slot, std::make_unique<token>(one.function)};
        if (below(2) == 0) {
            one.timer->start(loop_, time(one.deadline), std::move(function), period);
        } else {
            one.timer->start(loop_, time(one.deadline), large{std::move(function)}, period);
        }
    }

    // Whether no timer of this round is due before this one, except timers that may come later.
    bool is_first(const modelled &it) const {
        for (const modelled &one : timers_) {
            const bool is_before = one.deadline < it.deadline || (one.deadline == it.deadline && one.start < it.start);
            const bool may_wait = runs_.size() > 1 && one.start > runs_.front().starts_before;
            if (one.is_of_this_round && is_before && !may_wait) {
                return false;
            }
        }
        return true;
    }

    modelled *first_of_this_round() {
        modelled *first = nullptr;
        for (modelled &one : timers_) {
            const bool is_before = first == nullptr || one.deadline < first->deadline ||
                                   (one.deadline == first->deadline && one.start < first->start);
            first = one.is_of_this_round && is_before ? &one : first;
        }
        return first;
    }

    // Returns what the run has thrown.
    std::optional<std::uint64_t> run_once() {
        now_ += below(15);
        for (modelled &one : timers_) {
            one.is_of_this_round = one.is_active && one.deadline <= now_;
        }
        runs_.emplace_back();
        runs_.back().starts_before = starts_;
        std::optional<std::uint64_t> thrown;
        try {
            EXPECT(loop_.run(time(now_)) == runs_.back().calls);
        } catch (const std::uint64_t &id) {
            thrown = id;
        }
        EXPECT(thrown == runs_.back().thrown);    // the first exception of a callback of this run
        EXPECT(first_of_this_round() == nullptr); // no timer was forgotten
        runs_.pop_back();
        return thrown;
    }

    std::mt19937_64 random_;
    verge::loop loop_;
    std::array<modelled, timer_count> timers_;
    std::vector<run> runs_;              // runs that have not returned, the innermost last
    std::vector<std::uint64_t> running_; // callbacks that have not returned, the innermost last
    std::uint64_t now_ = 0;
    std::uint64_t starts_ = 0;
    std::uint64_t functions_ = 0;
};

} // namespace

int main() {
    const char *text = std::getenv("VERGE_TEST_SEED");
    const std::uint64_t seed = text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 0) : 20261118;
    std::printf("VERGE_TEST_SEED=%" PRIu64 "\n", seed);
    world all(seed);
    all.play();
    EXPECT(all.calls_of_running > 100); // callbacks did run inside themselves, or the test shows nothing
    return 0;
}
