// The second thread of random programs, which does what it is given.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

class Mate {
  public:
    Mate() : thread_([this] { run(); }) {}
    ~Mate() {
        give({});
        thread_.join();
    }
    Mate(const Mate&) = delete;
    Mate& operator=(const Mate&) = delete;

    void give(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        work_ = std::move(work);
        is_given_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !is_given_; });
    }

  private:
    void run() {
        while (true) {
            std::function<void()> work;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return is_given_; });
                work = std::move(work_);
            }
            if (!work) return;
            work();
            const std::lock_guard lock(mutex_);
            is_given_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;
    bool is_given_ = false;
    std::thread thread_;
};
