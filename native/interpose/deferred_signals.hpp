// Signals that wait while a library works on a thread of the program's.
//
// Blocked there, one that is sent to the process would go to another of its threads instead, where a handler that
// leaves by a jump ruins both. So the library hooks sigaction: from the first time on that signals are to wait,
// a handler of ours comes before the program's and sends a signal that comes too early to the same thread again,
// blocked there until the library is done. What has no handler, or one that was set without the C library, is blocked
// only.
#pragma once

#include <signal.h>

#include "base/threads.hpp"

namespace isthmus::interpose {

using SignalAction = int (*)(int, const struct sigaction*, struct sigaction*);
using SignalHandler = void (*)(int);

// From now on no handler of the program's runs on the calling thread but those of its faults; returns what
// deliver_signals is given. Between the two there is nothing to clean up: in the second the program's handlers may
// leave by a jump.
SignalMask defer_signals() noexcept;
void deliver_signals(SignalMask before);
// Does `work`, which has nothing to clean up behind it, between the two.
template <typename Work>
void with_signals_deferred(const Work& work) {
    const SignalMask before = defer_signals();
    work();
    deliver_signals(before);
}

// For the library's sigaction, and for signal and the like, which call the `next` function of that name: what the
// program sees is as without the library. The first says how handlers are set; until then ours
// comes before none. Both may be called in handlers.
void hook_signals(SignalAction next) noexcept;
int set_action(SignalAction next, int signal, const struct sigaction* action, struct sigaction* before);
SignalHandler set_handler(SignalHandler (*next)(int, SignalHandler), int signal, SignalHandler handler);

}  // namespace isthmus::interpose
