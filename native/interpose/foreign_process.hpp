// What it takes to live in somebody else's process.
#pragma once

#include <pthread.h>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace isthmus::interpose {

// The one recorder of a process. It is never destroyed: threads of a foreign program may call until the very end.
template <typename Recorder>
class Only {
  public:
    // Null before `set`, after `forget`, and in a child that was forked from the process, which must leave its
    // parent's file alone.
    static Recorder* get() {
        const Mark* mark = known.load(std::memory_order_acquire);
        return mark != nullptr && mark->load(std::memory_order_relaxed) ? recorder.load(std::memory_order_acquire)
                                                                        : nullptr;
    }
    static void set(Recorder* made) {
        recorder.store(made, std::memory_order_release);
        Mark* mark = mark_of_process();
        mark->store(true, std::memory_order_relaxed);
        known.store(mark, std::memory_order_release);
    }
    static void forget() { known.store(nullptr, std::memory_order_relaxed); }

    // From now on forked children forget it, and an exit in order finishes it.
    static void follow_process() {
        pthread_atfork(nullptr, nullptr, &forget);
        std::atexit(&finish);
        std::at_quick_exit(&finish);
    }

  private:
    using Mark = std::atomic<bool>;

    static void finish() {
        if (Recorder* current = get()) current->finish();
    }
    // Children that are made by the system call alone find it wiped, too (Linux 4.14).
    static Mark* mark_of_process() {
        static Mark otherwise{false};
        void* page = mmap(nullptr, sizeof(Mark), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return &otherwise;
        [[maybe_unused]] const int unknown = madvise(page, static_cast<std::size_t>(getpagesize()), MADV_WIPEONFORK);
        return new (page) Mark(false);
    }

    static inline std::atomic<Recorder*> recorder{nullptr};
    // Apart from the pointer, without which tools that look for leaks would take the recorder for one.
    static inline std::atomic<Mark*> known{nullptr};
};

// Nothing is thrown into a foreign program; what can be is that memory ran out, of which it will hear itself. Its errno
// is not ours either.
template <typename Work>
void guarded(const Work& work) noexcept {
    const int reason = errno;
    try {
        work();
    } catch (...) {
        errno = reason;
        return;
    }
    errno = reason;
}

}  // namespace isthmus::interpose
