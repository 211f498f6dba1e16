// Holds a stream, and tells whether a call came back while it was held.
#pragma once

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "api.hpp"

namespace facts {

// A word of page-locked memory that streams wait for. The call under test returns, and the gate is opened after it; or
// it waits, and the gate is opened when the calling thread has been at work for so long, or the whole process asleep,
// that it cannot be about to return. What other processes do does not make a call look as if it waited.
class Gate {
  public:
    explicit Gate(double patience_seconds) : patience_(patience_seconds) {
        void* memory = nullptr;
        must("cuMemHostAlloc", &memory, std::size_t{4096}, 2U);
        must("cuMemHostGetDevicePointer_v2", &address_, memory, 0U);
        word_ = new (memory) std::atomic<std::uint32_t>(0);
        watcher_ = std::thread([this] { watch(); });
    }
    ~Gate() {
        ends_ = true;
        watcher_.join();
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    // Returns what the driver says to it.
    int close_behind(Handle stream) {
        ++closed_;
        return call("cuStreamWaitValue32_v2", stream, address_, closed_, 0U);
    }
    void open() { word_->store(closed_); }

    // Whether the call came back while the gate was closed; it still is then, until `open`.
    bool is_left_early(const std::function<void()>& work) {
        {
            const std::lock_guard lock(mutex_);
            pthread_getcpuclockid(pthread_self(), &clock_);
            thread_ = std::to_string(syscall(SYS_gettid));
            begun_ = cpu_seconds();
            asleep_seconds_ = 0;
            is_watched_ = true;
            is_opened_ = false;
        }
        work();
        const std::lock_guard lock(mutex_);
        is_watched_ = false;
        return !is_opened_;
    }

  private:
    double cpu_seconds() const {
        timespec time{};
        clock_gettime(clock_, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    static bool is_asleep(const std::filesystem::path& thread) {
        std::ifstream file(thread / "stat");
        std::string line;
        std::getline(file, line);
        const std::size_t name = line.rfind(')');
        return name != std::string::npos && name + 2 < line.size() && line[name + 2] == 'S';
    }
    // Whether no thread of the process has anything to do, but for the one that asks.
    bool is_all_asleep() const {
        const std::filesystem::path all = "/proc/self/task";
        if (!is_asleep(all / thread_)) return false;
        const std::string own = std::to_string(syscall(SYS_gettid));
        for (const auto& thread : std::filesystem::directory_iterator(all)) {
            if (thread.path().filename() != own && !is_asleep(thread.path())) return false;
        }
        return true;
    }
    void watch() {
        constexpr auto apart = std::chrono::milliseconds(1);
        while (!ends_) {
            std::this_thread::sleep_for(apart);
            const std::lock_guard lock(mutex_);
            if (!is_watched_ || is_opened_) continue;
            if (is_all_asleep()) asleep_seconds_ += 1e-3;
            if (cpu_seconds() - begun_ < most_work_seconds && asleep_seconds_ < patience_) continue;
            is_opened_ = true;
            open();
        }
    }

    static constexpr double most_work_seconds = 0.1;
    const double patience_;
    std::atomic<std::uint32_t>* word_ = nullptr;
    Address address_ = 0;
    std::uint32_t closed_ = 0;
    std::atomic<bool> ends_ = false;
    std::mutex mutex_;  // guards what follows
    clockid_t clock_{};
    std::string thread_;
    double begun_ = 0;
    double asleep_seconds_ = 0;
    bool is_watched_ = false, is_opened_ = false;
    std::thread watcher_;
};

}  // namespace facts
