// One at a time, in the order in which they came.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus {

// A mutex that is had in the order in which callers asked, for std::lock_guard: one that takes it again and again
// cannot keep others waiting. A caller that waits sleeps.
class FairMutex {
  public:
    FairMutex() = default;
    FairMutex(const FairMutex&) = delete;
    FairMutex& operator=(const FairMutex&) = delete;

    void lock() {
        const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
        for (std::uint32_t now = current_.load(std::memory_order_acquire); now != mine;
             now = current_.load(std::memory_order_acquire)) {
            current_.wait(now, std::memory_order_acquire);
        }
    }
    void unlock() {
        current_.fetch_add(1, std::memory_order_release);
        current_.notify_all();
    }
    // Whether another caller waits for the one that holds it.
    bool awaited() const {
        return next_.load(std::memory_order_relaxed) - current_.load(std::memory_order_relaxed) > 1;
    }

  private:
    std::atomic<std::uint32_t> next_ = 0, current_ = 0;
};

}  // namespace isthmus
