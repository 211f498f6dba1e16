// A stream of the host backend: one thread that runs commands in order.
#include "backend/host/worker.hpp"

#include <utility>

#include "base/threads.hpp"

namespace isthmus::host {

std::shared_ptr<Worker> Worker::start() {
    std::shared_ptr<Worker> worker(new Worker);
    worker->thread_ =
        start_thread("isthmus-stream", [at = worker.get()](const std::stop_token& stop) { at->run(stop); });
    return worker->thread_ ? worker : nullptr;
}

Worker::~Worker() {
    if (thread_) thread_->request_stop();
    changed_.notify_all();
}

void Worker::enqueue(Command command) {
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back(std::move(command));
    }
    changed_.notify_all();
}

Status Worker::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
    return std::exchange(failure_, Status());
}

Status Worker::failure() {
    const std::lock_guard lock(mutex_);
    return failure_.copy();
}

void Worker::forgive() {
    const std::lock_guard lock(mutex_);
    failure_ = {};
}

void Worker::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, stop, [this] { return !queue_.empty(); });
        if (queue_.empty()) return;
        const Command command = std::move(queue_.front());
        queue_.pop_front();
        busy_ = true;
        lock.unlock();
        Status status = caught(command);
        lock.lock();
        busy_ = false;
        if (!status.ok() && failure_.ok()) failure_ = std::move(status);
        changed_.notify_all();
    }
}

}  // namespace isthmus::host
