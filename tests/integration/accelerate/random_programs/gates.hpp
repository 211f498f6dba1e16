// Gates in front of which streams wait, and who opens them: a call that waits for a gate is noticed by what the threads
// do, never by a clock alone.
#pragma once

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "api.hpp"
#include "mate.hpp"

// What streams wait for: a word of page-locked memory, which the device reads, and a host function as well.
class Gates {
  public:
    static constexpr unsigned most = 4;

    void make() {
        expect(driver->cuMemHostAlloc(&memory_, most * sizeof(std::uint32_t), host_alloc_device_map) == success);
        std::memset(memory_, 0, most * sizeof(std::uint32_t));
        expect(call(more->cuMemHostGetDevicePointer, &device_, memory_, 0U) == success);
    }
    // Of a context that is gone.
    void forget() { tickets_ = {}; }
    Code close(unsigned gate, Stream stream, bool by_host_function) {
        const std::lock_guard lock(mutex_);
        Ticket& ticket = tickets_[gate];
        ticket.number += 1;
        ticket.word = static_cast<std::uint32_t*>(memory_) + gate;
        const DevicePointer word = device_ + gate * sizeof(std::uint32_t);
        const Code code = by_host_function && more->cuLaunchHostFunc != nullptr
                              ? more->cuLaunchHostFunc(stream, &Gates::wait, new Ticket(ticket))
                              : call(more->cuStreamWaitValue32, stream, word, ticket.number, stream_wait_value_geq);
        ticket.is_closed = code == success;
        return code;
    }
    void open() {
        const std::lock_guard lock(mutex_);
        for (Ticket& ticket : tickets_) {
            if (ticket.is_closed) std::atomic_ref(*ticket.word).store(ticket.number);
            ticket.is_closed = false;
        }
    }
    bool is_closed(unsigned gate) {
        const std::lock_guard lock(mutex_);
        return tickets_[gate].is_closed;
    }
    bool any_closed() {
        const std::lock_guard lock(mutex_);
        return std::any_of(tickets_.begin(), tickets_.end(), [](const Ticket& ticket) { return ticket.is_closed; });
    }

  private:
    struct Ticket {
        std::uint32_t* word = nullptr;
        std::uint32_t number = 0;
        bool is_closed = false;
    };
    static void wait(void* data) {
        auto* const ticket = static_cast<Ticket*>(data);
        while (static_cast<std::int32_t>(std::atomic_ref(*ticket->word).load() - ticket->number) < 0) usleep(200);
        delete ticket;
    }
    void* memory_ = nullptr;
    DevicePointer device_ = 0;
    std::array<Ticket, most> tickets_{};
    std::mutex mutex_;
};

// Whether nothing gets on in this process: of a row of looks, each thread slept in most, or it has computed for so
// long, since the call began, that it can only be waiting. A thread that has not had its share of a loaded machine
// still has something to do.
class Threads {
  public:
    static constexpr int looks = 15;

    void begin() {
        begun_ = state();
        first_ = begun_;
        asleep_.clear();
        looked_ = 0;
    }
    // Whether this was the last look of a row, in which nothing got on.
    bool are_stuck() {
        const auto now = state();
        for (const auto& [thread, seen] : now) asleep_[thread] += seen.state == 'S' ? 1 : 0;
        if (++looked_ < looks) return false;
        bool stuck = true;
        for (const auto& [thread, seen] : now) {
            const bool spins = seen.ticks - ticks(begun_, thread) >= spinning_ticks;
            const bool sleeps = asleep_[thread] * 2 > looks && seen.ticks - ticks(first_, thread) <= 1;
            stuck = stuck && (spins || sleeps);
        }
        first_ = now;
        asleep_.clear();
        looked_ = 0;
        return stuck;
    }

  private:
    static constexpr long spinning_ticks = 5;  // of 10 ms
    struct Thread {
        char state;
        long ticks;
    };
    using All = std::map<long, Thread>;
    static long ticks(const All& all, long thread) {
        const auto found = all.find(thread);
        return found == all.end() ? 0 : found->second.ticks;
    }
    static All state() {
        All all;
        DIR* const folder = opendir("/proc/self/task");
        if (folder == nullptr) return all;
        const long own = syscall(SYS_gettid);
        while (const dirent* entry = readdir(folder)) {
            const long thread = std::atol(entry->d_name);
            if (thread == 0 || thread == own) continue;
            const std::string path = "/proc/self/task/" + std::string(entry->d_name) + "/stat";
            std::FILE* const file = std::fopen(path.c_str(), "r");
            if (file == nullptr) continue;
            char text[1024] = {};
            const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
            std::fclose(file);
            text[length] = 0;
            const char* const after = std::strrchr(text, ')');
            Thread found{};
            unsigned long user = 0, system = 0;
            if (after == nullptr || std::sscanf(after + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                                &found.state, &user, &system) != 3) {
                continue;
            }
            found.ticks = static_cast<long>(user + system);
            all[thread] = found;
        }
        closedir(folder);
        return all;
    }
    All begun_, first_;
    std::map<long, int> asleep_;
    int looked_ = 0;
};

enum class Return { not_asked, early, waited, doubtful };

// Opens the gates when a call waits for them, and says so.
class Watchdog {
  public:
    explicit Watchdog(Gates& gates) : gates_(gates), thread_([this] { run(); }) {}
    ~Watchdog() {
        is_ended_ = true;
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    void begin() {
        const std::lock_guard lock(mutex_);
        ++call_;
        is_watching_ = gates_.any_closed();
        result_ = is_watching_ ? Return::early : Return::not_asked;
    }
    Return end() {
        const std::lock_guard lock(mutex_);
        is_watching_ = false;
        return result_;
    }

  private:
    static constexpr std::chrono::milliseconds pause{5};
    // What is unclear after so long is left out: no program may hang a device.
    static constexpr int most_pauses = 2000;

    void run() {
        leave_timers_to_others();
        unsigned long known = 0;
        Threads threads;
        int pauses = 0;
        while (!is_ended_) {
            std::this_thread::sleep_for(pause);
            std::optional<unsigned long> watched;
            {
                const std::lock_guard lock(mutex_);
                if (is_watching_) watched = call_;
            }
            if (!watched) continue;
            if (*watched != known) {
                known = *watched;
                pauses = 0;
                threads.begin();
                continue;
            }
            const bool waits = threads.are_stuck();
            if (!waits && ++pauses < most_pauses) continue;
            const std::lock_guard lock(mutex_);
            if (!is_watching_ || call_ != known) continue;
            result_ = waits ? Return::waited : Return::doubtful;
            is_watching_ = false;
            gates_.open();
        }
    }

    Gates& gates_;
    std::mutex mutex_;
    unsigned long call_ = 0;
    bool is_watching_ = false;
    Return result_ = Return::not_asked;
    std::atomic<bool> is_ended_ = false;
    std::thread thread_;
};
