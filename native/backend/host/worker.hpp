// A stream of the host backend: one thread that runs commands in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/fork.hpp"
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

    // In the child of a fork, where the thread is not there, nothing comes of it.
    void enqueue(Command command);
    // Waits until all commands have run; returns the first failure since the last call.
    Status drain();
    // What drain() would return so far, which stays.
    Status failure();
    // Somebody was told of the failure by other means: drain() does not return it again.
    void forgive();

  private:
    struct State;
    explicit Worker(std::unique_ptr<State> state);
    const unsigned generation_ = fork_generation();
    // In the child of a fork it is never freed: to destroy what a thread waits for waits for that thread.
    std::unique_ptr<State> state_;
};

}  // namespace isthmus::host
