// A stretch of the recorder's own work, of which the program that it lives in notices nothing.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>

#include "base/threads.hpp"

namespace isthmus::interpose {

// Meanwhile the calling thread takes none of the program's signals (its handlers might call the recorder, or leave it
// by a jump) and is not cancelled. A signal that a limit on the size of files raised is taken back, whatever the
// program does with such signals, and errno is as it was.
class Undisturbed {
  public:
    Undisturbed() noexcept : errno_(errno) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled_);
        const sigset_t signals = all_but_faults();
        pthread_sigmask(SIG_BLOCK, &signals, &mask_);
        was_pending_ = limit_pending();
    }
    ~Undisturbed() {
        if (!was_pending_ && limit_pending()) {
            sigset_t limit;
            sigemptyset(&limit);
            sigaddset(&limit, SIGXFSZ);
            const timespec now{};
            sigtimedwait(&limit, nullptr, &now);
        }
        pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
        pthread_setcancelstate(cancelled_, nullptr);
        errno = errno_;
    }
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;

  private:
    static bool limit_pending() noexcept {
        sigset_t pending;
        return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    }

    int errno_, cancelled_ = PTHREAD_CANCEL_ENABLE;
    bool was_pending_ = false;
    sigset_t mask_{};
};

}  // namespace isthmus::interpose
