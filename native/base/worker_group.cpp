// Persistent host threads that are woken together, and a watchdog over them.
#include "base/worker_group.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "base/threads.hpp"

namespace isthmus {
namespace {

constexpr int looks_at_once = 32;

// Leaves the processor's other hardware thread more of it while this one looks again and again.
void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

// All that a thread touches. A thread that was left behind may touch it at any later time.
struct WorkerGroup::State {
    State(std::size_t threads, bool ends_after_one_job, Options chosen)
        : once(ends_after_one_job), options(std::move(chosen)), results(threads) {}

    // Keeps what was left behind until no thread uses it. What is kept outlives even the process's destructors, so that
    // a thread may be stuck in a driver while the process exits.
    static void leave(std::unique_ptr<State> state) noexcept;
    // Frees what is no longer used.
    static void sweep();

    // Until there is another job than the one last seen. Busy for a moment first, if this thread has just worked.
    void await(std::uint32_t seen, bool worked) const;

    const bool once;
    const Options options;
    Job job;                               // written only while no thread works on it
    std::size_t wanted = 0;                // threads that take part in it; likewise
    std::atomic<std::uint32_t> round = 0;  // number of the latest job; threads sleep until it changes
    std::atomic<bool> stop = false;
    std::atomic<bool> quit = false;
    std::atomic<std::uint32_t> open = 0;  // number of the job that threads may begin; 0 for none
    std::atomic<std::size_t> inside = 0;  // threads that may be at work on it
    std::atomic<std::size_t> ended = 0;   // threads that have done their part of it
    std::size_t expected = 0;             // threads that there are to do it; the caller's
    std::atomic<std::size_t> alive = 0;   // threads that may still touch this
    std::vector<Status> results;          // by thread; read once no thread is inside
    std::mutex mutex;                     // for `left` alone
    std::condition_variable left;         // notified when no thread is inside

  private:
    std::unique_ptr<State> next_;  // among those kept
    struct Kept {
        std::mutex mutex;
        std::unique_ptr<State> first;
    };
    static Kept& kept() {
        static auto* kept = new Kept;
        return *kept;
    }
};

void WorkerGroup::State::leave(std::unique_ptr<State> state) noexcept {
    const std::lock_guard lock(kept().mutex);
    state->next_ = std::move(kept().first);
    kept().first = std::move(state);
}

void WorkerGroup::State::sweep() {
    const std::lock_guard lock(kept().mutex);
    for (std::unique_ptr<State>* at = &kept().first; *at != nullptr;) {
        if ((*at)->alive.load(std::memory_order_acquire) == 0) {
            *at = std::move((*at)->next_);
        } else {
            at = &(*at)->next_;
        }
    }
}

void WorkerGroup::State::await(std::uint32_t seen, bool worked) const {
    if (worked && options.awake_seconds > 0) {
        const TimePoint begin = now();
        do {
            for (int i = 0; i < looks_at_once; ++i) {
                if (round.load(std::memory_order_acquire) != seen) return;
                pause();
            }
            std::this_thread::yield();
        } while (seconds_between(begin, now()) < options.awake_seconds);
    }
    round.wait(seen, std::memory_order_acquire);
}

namespace {

Status too_few(std::size_t started, std::size_t wanted) {
    if (!may_start_threads()) {
        return unsupported("a filter of system calls (seccomp) may end the process for starting threads");
    }
    return unsupported("only " + std::to_string(started) + " of " + std::to_string(wanted) +
                       " threads could be started: the limit on threads is reached (ulimit -u, or pids.max "
                       "of the container)");
}

}  // namespace

WorkerGroup::WorkerGroup(std::size_t threads, bool once, Options options)
    : state_(std::make_unique<State>(threads, once, std::move(options))) {}

Result<std::unique_ptr<WorkerGroup>> WorkerGroup::start(std::size_t threads, Options options) {
    State::sweep();
    std::unique_ptr<WorkerGroup> group(new WorkerGroup(threads, false, std::move(options)));
    ISTHMUS_TRY(group->create_threads());
    return group;
}

WorkerGroup::~WorkerGroup() {
    if (state_ == nullptr) return;
    state_->quit = true;
    ++state_->round;
    state_->round.notify_all();
}

Status WorkerGroup::create_threads() {
    const std::size_t wanted = state_->results.size();
    threads_.reserve(wanted);
    for (std::size_t i = 0; i < wanted; ++i) {
        ++state_->alive;
        auto thread = start_thread("isthmus-worker", [state = state_.get(), i] { work(*state, i); });
        if (!thread) {
            --state_->alive;
            return too_few(i, wanted);
        }
        threads_.push_back(std::move(*thread));
    }
    return {};
}

void WorkerGroup::work(State& state, std::size_t worker) {
    if (state.options.begin) state.options.begin();
    bool worked = false;
    for (std::uint32_t seen = 0; true;) {
        state.await(seen, worked);
        worked = false;
        seen = state.round.load(std::memory_order_acquire);
        if (state.quit) break;
        // A caller that closes a job looks afterwards who is inside; the caller that goes inside looks afterwards
        // whether it is open.
        ++state.inside;
        if (state.open == seen && worker < state.wanted) {
            worked = true;
            Status status = caught([&] { return state.job(worker, state.stop); });
            if (!status.ok()) {
                state.results[worker] = std::move(status);
                state.stop = true;
            }
            ++state.ended;
        }
        if (--state.inside == 0) {
            const std::lock_guard lock(state.mutex);
            state.left.notify_one();
        }
        if (state.once) break;
    }
    state.alive.fetch_sub(1, std::memory_order_release);
}

void WorkerGroup::post(Job job, std::size_t threads) {
    State& state = *state_;
    state.job = std::move(job);
    state.wanted = std::min(threads, state.results.size());
    state.stop = false;
    state.ended = 0;
    state.expected = state.wanted;
    state.open = state.round + 1;
    state.round.fetch_add(1, std::memory_order_release);
    state.round.notify_all();
}

Status WorkerGroup::run(Job job, const Limit& limit) {
    if (state_ == nullptr) return {Code::call_failed, "the threads of an earlier transfer have not ended"};
    post(std::move(job), SIZE_MAX);
    return wait(limit);
}

Status WorkerGroup::run_with_caller(Job job, const Limit& limit, std::size_t threads) {
    if (state_ == nullptr) return {Code::call_failed, "the threads of an earlier transfer have not ended"};
    post(std::move(job), threads);
    // Nothing leaves this function while threads are at work on what is the caller's.
    Status of_caller = caught([&] { return state_->job(threads_.size(), state_->stop); });
    if (!of_caller.ok()) state_->stop = true;
    state_->open = 0;
    state_->expected = 0;
    const auto awake_until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (state_->inside != 0 && std::chrono::steady_clock::now() < awake_until) std::this_thread::yield();
    Status of_others = wait(limit);
    // Worse than any failure: threads that were left behind.
    if (of_others.code() == Code::timed_out) return of_others;
    return of_caller.ok() ? std::move(of_others) : std::move(of_caller);
}

Status WorkerGroup::run_once(std::size_t threads, Job job, const Limit& limit) {
    State::sweep();
    WorkerGroup group(threads, true, Options());
    group.post(std::move(job), SIZE_MAX);
    Status created = group.create_threads();
    if (!created.ok()) {
        // The others are at work already, and are waited for like any.
        group.state_->stop = true;
        group.state_->expected = group.threads_.size();
    }
    Status status = group.wait(limit);
    if (group.state_ != nullptr) group.threads_.clear();  // joins
    return created.ok() ? std::move(status) : std::move(created);
}

Status WorkerGroup::wait(const Limit& limit) {
    State& state = *state_;
    bool all_left = false;
    {
        std::unique_lock lock(state.mutex);
        all_left = state.left.wait_for(lock, std::chrono::duration<double>(limit.seconds),
                                       [&state] { return state.ended >= state.expected && state.inside == 0; });
    }
    if (!all_left) {
        const std::size_t ended = state.ended;
        const std::size_t inside = std::max<std::size_t>(state.inside, 1);
        const std::size_t stuck = state.expected > ended ? state.expected - ended : inside;
        const std::size_t all = threads_.size();
        abandon();
        return caught(
            [&]() -> Status {
                std::array<char, 32> seconds{};
                std::snprintf(seconds.data(), seconds.size(), "%g s", limit.seconds);
                return {Code::timed_out, std::to_string(stuck) + " of " + std::to_string(all) +
                                             " threads had not ended after " + seconds.data() +
                                             " and were left behind: " + limit.doing};
            },
            Code::timed_out);
    }
    state.open = 0;
    state.job = nullptr;
    Status first;
    for (Status& status : state.results) {
        if (first.ok()) first = std::move(status);
        status = Status();
    }
    return first;
}

void WorkerGroup::abandon() noexcept {
    state_->open = 0;  // the caller that comes now sees that, and leaves
    state_->stop = true;
    state_->quit = true;
    ++state_->round;
    state_->round.notify_all();
    for (std::jthread& thread : threads_) thread.detach();
    threads_.clear();
    State::leave(std::move(state_));
}

}  // namespace isthmus
