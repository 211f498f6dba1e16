// What real CUDA drivers have been seen to do, and the fake one does with FAKE_CUDA_STRICT: seen on an H200 with driver
// 580.
//
// Giving memory back and loading modules waits for all streams, and keeps a lock meanwhile that every other call needs.
// Copies of one direction go one after the other in the order in which they were enqueued, so that one that waits keeps
// back those behind it, as real ones do beside four streams that are held. And the device goes on by itself: no call of
// the program is needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "fake_calls.hpp"
#include "fake_streams.hpp"

namespace fake {

inline bool is_strict() {
    static const bool strict = std::getenv("FAKE_CUDA_STRICT") != nullptr;
    return strict;
}

// Taken before `world`.
inline std::recursive_mutex driver_lock;

// What every call does first.
inline void enter_driver(const char* function) {
    refuse_forked(function);
    if (is_strict()) const std::lock_guard lock(driver_lock);
}

// Held by calls that wait for all streams.
class Alone {
  public:
    explicit Alone(const char* function) {
        refuse_forked(function);
        if (!is_strict()) return;
        driver_lock.lock();
        wait_until([] { return streams.all_idle(); });
    }
    ~Alone() {
        if (is_strict()) driver_lock.unlock();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
};

// The copies that are under way, by direction. With `world` held.
using CopyQueue = std::deque<std::uint64_t>;
inline std::map<bool, CopyQueue>& copy_queues = *new std::map<bool, CopyQueue>;

// The same command, when its turn has come.
inline Command in_turn(bool to_device, Command command) {
    if (!is_strict()) return command;
    static std::uint64_t number = 0;
    CopyQueue& queue = copy_queues[to_device];
    queue.push_back(++number);
    return [&queue, mine = number, command = std::move(command)] {
        if (queue.front() != mine || !command()) return false;
        queue.pop_front();
        return true;
    };
}

// With FAKE_CUDA_QUEUES streams of a device held, no copy between it and the host begins: four, as seen on an H100 with
// driver 580.
inline Command in_queue(const void* context, Command command) {
    static const char* const text = std::getenv("FAKE_CUDA_QUEUES");
    if (text == nullptr) return command;
    static const std::size_t queues = std::strtoul(text, nullptr, 10);
    Command made([context, command = std::move(command)] { return streams.held(context) < queues && command(); });
    made.is_copy = true;
    return made;
}

// The device's own time. Never ends.
inline void start_device() {
    if (!is_strict()) return;
    static std::once_flag once;
    std::call_once(once, [] {
        std::thread([] {
            while (true) {
                {
                    const std::lock_guard lock(world);
                    streams.advance();
                }
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            }
        }).detach();
    });
}

}  // namespace fake
