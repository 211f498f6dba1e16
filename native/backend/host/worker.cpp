// A stream of the host backend: one thread that runs commands in order.
#include "backend/host/worker.hpp"

#include <utility>

#include "base/threads.hpp"

namespace isthmus::host {

namespace {

Status forked() {
    return {Code::call_failed,
            "the stream was made before this process was forked, and its thread is in the parent only: use "
            "multiprocessing.set_start_method(\"spawn\"), or make it in the child"};
}

}  // namespace

struct Worker::State {
    void run(const std::stop_token& stop);

    std::mutex mutex;  // guards all below
    std::condition_variable_any changed;
    std::deque<Command> queue;
    bool busy = false;
    Status failure;
    std::optional<std::jthread> thread;  // last, so that it ends before what it uses
};

std::shared_ptr<Worker> Worker::start() {
    std::shared_ptr<Worker> worker(new Worker(std::make_unique<State>()));
    State& state = *worker->state_;
    state.thread = start_thread("isthmus-stream", [at = &state](const std::stop_token& stop) { at->run(stop); });
    return state.thread ? worker : nullptr;
}

Worker::Worker(std::unique_ptr<State> state) : state_(std::move(state)) {}

Worker::~Worker() {
    if (generation_ != fork_generation()) {
        static_cast<void>(state_.release());
        return;
    }
    if (state_->thread) state_->thread->request_stop();
    state_->changed.notify_all();
}

void Worker::enqueue(Command command) {
    if (generation_ != fork_generation()) return;
    {
        const std::lock_guard lock(state_->mutex);
        state_->queue.push_back(std::move(command));
    }
    state_->changed.notify_all();
}

Status Worker::drain() {
    if (generation_ != fork_generation()) return forked();
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->queue.empty() && !state_->busy; });
    return std::exchange(state_->failure, Status());
}

Status Worker::failure() {
    if (generation_ != fork_generation()) return forked();
    const std::lock_guard lock(state_->mutex);
    return state_->failure.copy();
}

void Worker::forgive() {
    if (generation_ != fork_generation()) return;
    const std::lock_guard lock(state_->mutex);
    state_->failure = {};
}

void Worker::State::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, stop, [this] { return !queue.empty(); });
        if (queue.empty()) return;
        const Command command = std::move(queue.front());
        queue.pop_front();
        busy = true;
        lock.unlock();
        Status status = caught(command);
        lock.lock();
        busy = false;
        if (!status.ok() && failure.ok()) failure = std::move(status);
        changed.notify_all();
    }
}

}  // namespace isthmus::host
