// The graphs that the program is capturing.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace isthmus::accelerator {

// Recorded by the program's own calls: a capture ends with cuStreamEndCapture, with its stream, or with its context.
// Takes no lock, because forks and signals may come between.
class Captures {
  public:
    static bool any() noexcept { return under_way != 0; }
    // While one is held no capture begins, and none runs if it says so: for a question of the driver's that
    // would end them.
    class Pause {
      public:
        Pause() noexcept {
            ++pauses;
            none_runs_ = !any();
        }
        ~Pause() { --pauses; }
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;
        bool none_runs() const noexcept { return none_runs_; }

      private:
        bool none_runs_ = false;
    };

    // Called before the driver begins one. `context` is the stream's. Without memory to know more streams, one that has
    // no place counts for good, and all copies are the driver's.
    static void begin(std::uintptr_t stream, std::uintptr_t context) noexcept {
        ++under_way;
        // A question takes microseconds, unless a handler of a signal begins a capture in the midst of one.
        for (int i = 0; pauses != 0 && i < most_yields; ++i) sched_yield();
        for (Block* block = &first; block != nullptr; block = block->next_or_new()) {
            for (Capture& capture : block->captures) {
                std::uintptr_t none = 0;
                if (!capture.stream.compare_exchange_strong(none, key_of(stream))) continue;
                capture.context = context;
                return;
            }
        }
    }
    // It has ended, its stream has been destroyed, or the driver did not begin it.
    static void end(std::uintptr_t stream) noexcept {
        const std::uintptr_t key = key_of(stream);
        for (Block* block = &first; block != nullptr; block = block->next) {
            for (Capture& capture : block->captures) {
                if (capture.stream == key && forget(capture, key)) return;
            }
        }
    }
    // All whose context this was.
    static void end_with_context(std::uintptr_t context) noexcept {
        for (Block* block = &first; block != nullptr; block = block->next) {
            for (Capture& capture : block->captures) {
                const std::uintptr_t key = capture.stream;
                if (key != 0 && capture.context == context) (void)forget(capture, key);
            }
        }
    }

  private:
    struct Capture {
        std::atomic<std::uintptr_t> stream, context;
    };
    // Never freed, so that nothing has to keep it from going while it is read.
    struct Block {
        std::array<Capture, 16> captures;
        std::atomic<Block*> next;

        Block* next_or_new() noexcept {
            Block* known = next;
            if (known != nullptr) return known;
            auto* const made = new (std::nothrow) Block();
            if (next.compare_exchange_strong(known, made)) return made;
            delete made;
            return known;
        }
    };
    // The handle of the thread's own default stream names another stream in each thread. Other handles are even.
    static std::uintptr_t key_of(std::uintptr_t stream) noexcept {
        constexpr std::uintptr_t of_thread = 2;
        return stream == of_thread ? static_cast<std::uintptr_t>(pthread_self()) | 1 : stream;
    }
    static bool forget(Capture& capture, std::uintptr_t key) noexcept {
        capture.context = 0;
        if (!capture.stream.compare_exchange_strong(key, 0)) return false;
        --under_way;
        return true;
    }

    static constexpr int most_yields = 10'000;
    static inline std::atomic<std::size_t> under_way, pauses;
    static inline Block first;
};

}  // namespace isthmus::accelerator
