// A stream of the host backend: one thread that runs commands in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/status.hpp"

namespace isthmus::host {

class Worker {
  public:
    using Command = std::function<Status()>;

    // Null where there is no room for a thread.
    static std::shared_ptr<Worker> start();
    ~Worker();  // runs what is still queued
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void enqueue(Command command);
    // Waits until all commands have run; returns the first failure since the last call.
    Status drain();
    // What drain() would return so far, which stays.
    Status failure();
    // Somebody was told of the failure by other means: drain() does not return it again.
    void forgive();

  private:
    Worker() = default;
    void run(const std::stop_token& stop);

    std::mutex mutex_;  // guards all below
    std::condition_variable_any changed_;
    std::deque<Command> queue_;
    bool busy_ = false;
    Status failure_;
    std::optional<std::jthread> thread_;  // last, so that it ends before what it uses
};

}  // namespace isthmus::host
