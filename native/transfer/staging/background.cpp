// A thread that goes on with what callers do not wait for.
#include "transfer/staging/background.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <utility>

#include "base/fork.hpp"
#include "base/threads.hpp"

namespace isthmus {
namespace {

using Nap = std::chrono::microseconds;
constexpr Nap first_nap{10};

// What throws for want of memory can go on when there is some again.
Background::Step step_of(const Background::Task& task) noexcept {
    try {
        return task();
    } catch (...) {
        return Background::Step::waits;
    }
}

}  // namespace

Status Background::start() {
    const std::lock_guard lock(mutex_);
    if (thread_) return {};
    queue_ = std::make_shared<Queue>();
    thread_ = start_thread("isthmus-copies", [queue = queue_, last_nap = last_nap_] { run(queue, last_nap); });
    if (thread_) return {};
    return unsupported(
        "no thread for copies that nobody waits for: the limit on threads is reached (ulimit -u, or pids.max of "
        "the container)");
}

void Background::add(Prepared task) noexcept {
    {
        const std::lock_guard lock(queue_->mutex);
        queue_->fresh.splice(queue_->fresh.end(), task);
    }
    queue_->changed.notify_one();
}

void Background::stop() noexcept {
    const std::lock_guard lock(mutex_);
    if (!thread_) return;
    {
        const std::lock_guard queue_lock(queue_->mutex);
        queue_->quit = true;
    }
    queue_->changed.notify_one();
    if (thread_->get_id() == std::this_thread::get_id()) {
        thread_->detach();
    } else {
        thread_->join();
    }
    thread_.reset();
    queue_.reset();
}

void Background::forget() noexcept {
    // Never freed: the thread's handle would wait for it, and the caller that held the mutex is not there either.
    keep_for_good(std::move(thread_));
    keep_for_good(std::move(queue_));
    thread_.reset();
}

void Background::run(const std::shared_ptr<Queue>& queue, Nap last_nap) {
    std::list<Task> tasks;
    Nap nap = first_nap;
    while (true) {
        {
            std::unique_lock lock(queue->mutex);
            const auto is_called = [&] { return !queue->fresh.empty() || queue->quit; };
            if (tasks.empty()) {
                queue->changed.wait(lock, is_called);
                if (queue->fresh.empty()) return;
            } else if (nap.count() != 0) {
                queue->changed.wait_for(lock, nap, is_called);
            }
            if (!queue->fresh.empty()) nap = first_nap;
            tasks.splice(tasks.end(), queue->fresh);
        }
        Step most = Step::waits;
        for (auto task = tasks.begin(); task != tasks.end();) {
            const Step step = step_of(*task);
            if (step != Step::waits && most != Step::moves) most = step;
            task = step == Step::ended ? tasks.erase(task) : std::next(task);
        }
        if (most == Step::waits) {
            // What has ended is seen late by a fifth of the time that it took, or by the last nap.
            nap = std::clamp(nap + nap / 4, first_nap, last_nap);
        } else {
            nap = most == Step::moves ? Nap{0} : first_nap;
        }
    }
}

}  // namespace isthmus
