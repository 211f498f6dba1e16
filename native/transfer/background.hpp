// A thread that goes on with what callers do not wait for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/status.hpp"

namespace isthmus {

// Sleeps when there is nothing to do; looks ever more rarely while all there is waits for the device.
class Background {
  public:
    // Goes on with a task, or finds that it cannot yet; returns whether it has ended. Never waits for what a caller may
    // have yet to do.
    using Task = std::function<bool()>;

    Background() : queue_(std::make_shared<Queue>()) {}
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    // Ends the thread, which may be the calling one: a task may own whoever owns this. Precondition: no tasks are left.
    ~Background() { stop(); }

    // Starts the thread for the first one. Fails with unsupported where there is no room for it.
    Status add(Task task);
    void stop();
    // In the child of a fork, where the thread is not there.
    void forget();

  private:
    struct Queue {
        std::mutex mutex;  // guards what follows
        std::condition_variable changed;
        std::deque<Task> fresh;
        bool quit = false;
    };
    static void run(const std::shared_ptr<Queue>& queue);

    std::shared_ptr<Queue> queue_;
    std::mutex mutex_;  // guards the thread's start
    std::optional<std::jthread> thread_;
};

}  // namespace isthmus
