// What it takes to live in somebody else's process.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace isthmus::tracer {

// The one recorder of a process. It is never destroyed: threads of a foreign program may call until the very end.
template <typename Recorder>
class Only {
  public:
    // Null before `set`, after `forget`, and in a child that was forked from the process, which must leave its
    // parent's file alone.
    static Recorder* get() {
        return forgotten.load(std::memory_order_relaxed) ? nullptr : recorder.load(std::memory_order_acquire);
    }
    static void set(Recorder* made) { recorder.store(made, std::memory_order_release); }
    static void forget() { forgotten.store(true, std::memory_order_relaxed); }

    // From now on forked children forget it, and an exit in order finishes it.
    static void follow_process() {
        pthread_atfork(nullptr, nullptr, &forget);
        std::atexit([] {
            if (Recorder* current = get()) current->finish();
        });
    }

  private:
    static inline std::atomic<Recorder*> recorder{nullptr};
    // Apart from the pointer, without which tools that look for leaks would take the recorder for one.
    static inline std::atomic<bool> forgotten{false};
};

// Nothing is thrown into a foreign program; what can be is that memory ran out, of which it will hear itself.
template <typename Work>
void guarded(const Work& work) noexcept {
    try {
        work();
    } catch (...) {
        return;
    }
}

}  // namespace isthmus::tracer
