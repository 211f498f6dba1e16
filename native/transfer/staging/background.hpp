// A thread that goes on with what callers do not wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/status.hpp"

namespace isthmus {

// Sleeps when there is nothing to do; looks ever more rarely while all there is waits for the device.
class Background {
  public:
    // How a task got on: it found that it cannot yet, it moved something and may go on at once, or it has ended.
    enum class Step { waits, moves, ended };
    // Goes on for a while. Never waits for what a caller may have yet to do. One that throws is asked again.
    using Task = std::function<Step()>;
    // A task with all the memory that adding it and doing it takes.
    using Prepared = std::list<Task>;
    static Prepared prepare(Task task) {
        Prepared prepared;
        prepared.push_back(std::move(task));
        return prepared;
    }

    // Looks again after `last_nap` at the latest.
    explicit Background(std::chrono::microseconds last_nap) : last_nap_(last_nap) {}
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    // Ends the thread, which may be the calling one: a task may own the caller that owns this. Precondition: no tasks
    // are left.
    ~Background() { stop(); }

    // The thread, if it does not run yet. Fails with unsupported where there is no room for it.
    Status start();
    // Precondition: start() has succeeded.
    void add(Prepared task) noexcept;
    void stop() noexcept;
    // In the child of a fork, where the thread is not there.
    void forget() noexcept;

  private:
    struct Queue {
        std::mutex mutex;  // guards what follows
        std::condition_variable changed;
        std::list<Task> fresh;
        bool quit = false;
    };
    static void run(const std::shared_ptr<Queue>& queue, std::chrono::microseconds last_nap);

    std::shared_ptr<Queue> queue_;  // null until there is a thread
    const std::chrono::microseconds last_nap_;
    std::mutex mutex_;  // guards the thread's start
    std::optional<std::jthread> thread_;
};

}  // namespace isthmus
