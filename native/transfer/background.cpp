// A thread that goes on with what callers do not wait for.
#include "transfer/background.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <utility>

#include "base/threads.hpp"

namespace isthmus {
namespace {

using Nap = std::chrono::microseconds;
constexpr Nap first_nap{10};
constexpr Nap last_nap{500};

}  // namespace

Status Background::add(Task task) {
    {
        const std::lock_guard lock(mutex_);
        if (!thread_) {
            thread_ = start_thread([queue = queue_] { run(queue); });
            if (!thread_) {
                return {Code::unsupported,
                        "no thread for copies that nobody waits for: the limit on threads is reached (ulimit -u, or "
                        "pids.max of the container)"};
            }
        }
    }
    {
        const std::lock_guard lock(queue_->mutex);
        queue_->fresh.push_back(std::move(task));
    }
    queue_->changed.notify_one();
    return {};
}

void Background::stop() {
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
    queue_ = std::make_shared<Queue>();
}

void Background::forget() {
    // Never freed: the thread's handle would wait for it, and whoever held the mutex is not there either.
    static_cast<void>(new std::optional<std::jthread>(std::move(thread_)));
    static_cast<void>(new std::shared_ptr<Queue>(std::move(queue_)));
    thread_.reset();
}

void Background::run(const std::shared_ptr<Queue>& queue) {
    std::list<Task> tasks;
    Nap nap = first_nap;
    while (true) {
        {
            std::unique_lock lock(queue->mutex);
            const auto is_called = [&] { return !queue->fresh.empty() || queue->quit; };
            if (tasks.empty()) {
                queue->changed.wait(lock, is_called);
                if (queue->fresh.empty()) return;
            } else {
                queue->changed.wait_for(lock, nap, is_called);
            }
            if (!queue->fresh.empty()) nap = first_nap;
            for (Task& task : queue->fresh) tasks.push_back(std::move(task));
            queue->fresh.clear();
        }
        bool moved = false;
        for (auto task = tasks.begin(); task != tasks.end();) {
            if ((*task)()) {
                task = tasks.erase(task);
                moved = true;
            } else {
                ++task;
            }
        }
        nap = moved ? first_nap : std::min(2 * nap, last_nap);
    }
}

}  // namespace isthmus
