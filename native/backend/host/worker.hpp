// A stream of the host backend: one thread that runs commands in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "backend/backend.hpp"

namespace isthmus::host {

class Worker {
  public:
    using Command = std::function<Status()>;

    Worker() = default;
    ~Worker();  // runs what is still queued
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Whether there was room for a thread; nothing else may be called before.
    bool start();
    void enqueue(Command command);
    // Waits until all commands have run; returns the first failure since the last call.
    Status drain();

  private:
    void run(const std::stop_token& stop);

    std::mutex mutex_;  // guards all below
    std::condition_variable_any changed_;
    std::deque<Command> queue_;
    bool busy_ = false;
    Status failure_;
    std::optional<std::jthread> thread_;  // last, so that it ends before what it uses
};

}  // namespace isthmus::host
