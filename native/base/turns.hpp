// One at a time, in the order in which they came.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus {

// Like a mutex, but no one overtakes: who holds it again and again cannot keep others waiting. A caller that waits
// sleeps.
class Turns {
  public:
    Turns() = default;
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    void enter() {
        const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
        for (std::uint32_t now = current_.load(std::memory_order_acquire); now != mine;
             now = current_.load(std::memory_order_acquire)) {
            current_.wait(now, std::memory_order_acquire);
        }
    }
    void leave() {
        current_.fetch_add(1, std::memory_order_release);
        current_.notify_all();
    }
    // Whether somebody waits behind the caller that has the turn now.
    bool awaited() const {
        return next_.load(std::memory_order_relaxed) - current_.load(std::memory_order_relaxed) > 1;
    }

  private:
    std::atomic<std::uint32_t> next_ = 0, current_ = 0;
};

class Turn {
  public:
    explicit Turn(Turns& turns) : turns_(turns) { turns_.enter(); }
    ~Turn() { turns_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    Turns& turns_;
};

}  // namespace isthmus
