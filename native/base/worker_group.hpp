// Persistent host threads that are woken together, and a watchdog over them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.hpp"

namespace isthmus {

class WorkerGroup {
  public:
    // One thread's part of the work. `stop` is set once another thread has failed: take nothing more then, but wait for
    // what is in flight. Whatever the job uses must be kept alive by the job itself.
    using Job = std::function<Status(std::size_t worker, const std::atomic<bool>& stop)>;

    // How long a job may take, and the words for what did not end in that time.
    struct Limit {
        double seconds;
        std::string doing;
    };

    struct Options {
        // How long a thread that has done its part waits awake for the next job: waking takes longer than a small one.
        double awake_seconds = 0;
        // What each thread does first of all.
        std::function<void()> begin;
    };

    // Fails with unsupported when the system grants fewer threads; those that had started have ended then.
    static Result<std::unique_ptr<WorkerGroup>> start(std::size_t threads, Options options);
    static Result<std::unique_ptr<WorkerGroup>> start(std::size_t threads) { return start(threads, Options()); }
    // Ends the threads.
    ~WorkerGroup();
    WorkerGroup(const WorkerGroup&) = delete;
    WorkerGroup& operator=(const WorkerGroup&) = delete;

    // Wakes all threads at once, each of which does its part, and returns when all have ended: with the first failure
    // in the order of the threads. Waiting takes no CPU time. When the limit passes it returns timed_out, leaves
    // the threads behind with all that their job uses, and refuses further jobs. One caller at a time.
    Status run(Job job, const Limit& limit);
    // For work that all present take from one place: the caller is one more worker, the last, whose part no limit
    // watches. When that ends, threads that have not begun do not begin any more: it may take long until one wakes. The
    // caller waits awake for a moment, since the others are about to end too, and waking it would take longer.
    // Only the first `threads` take part; the caller's part has the number of all.
    Status run_with_caller(Job job, const Limit& limit, std::size_t threads = SIZE_MAX);

    // The same with threads that are created for the job, and joined before it returns.
    static Status run_once(std::size_t threads, Job job, const Limit& limit);

  private:
    struct State;
    WorkerGroup(std::size_t threads, bool once, Options options);
    static void work(State& state, std::size_t worker);
    Status create_threads();
    void post(Job job, std::size_t threads);
    Status wait(const Limit& limit);
    void abandon() noexcept;

    std::unique_ptr<State> state_;  // empty once the threads were left behind
    std::vector<std::jthread> threads_;
};

}  // namespace isthmus
