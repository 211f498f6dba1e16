// The second thread of random programs, which does what it is given.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

// Timers are not for threads that run: kernels give a signal to the one that they interrupt.
inline void leave_timers_to_others() {
    sigset_t timers;
    sigemptyset(&timers);
    sigaddset(&timers, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &timers, nullptr);
}

// Beside it sleeps a thread that takes any signal which the main thread does not take, as drivers have some.
class Mate {
  public:
    Mate() : thread_([this] { run(); }), sleeper_([this] { is_ended_.wait(false); }) {}
    ~Mate() {
        give({});
        thread_.join();
        is_ended_ = true;
        is_ended_.notify_all();
        sleeper_.join();
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
        leave_timers_to_others();
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
    std::atomic<bool> is_ended_ = false;
    std::thread thread_, sleeper_;
};
