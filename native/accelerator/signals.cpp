// Hooks the functions that set handlers of signals: some are to wait while the library copies.
#include "accelerator/functions.hpp"
#include "interpose/deferred_signals.hpp"
#include "interpose/hooks/hooks.hpp"

#include <cerrno>

// Sanitizers have hooks of their own there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::accelerator {
namespace {

using SetHandler = interpose::SignalHandler (*)(int, interpose::SignalHandler);

// X(name): all that set a handler and return the one before.
#define ISTHMUS_SETS_HANDLER(X) X(signal) X(bsd_signal) X(ssignal) X(sysv_signal) X(__sysv_signal) X(sigset)

ISTHMUS_NEXT(sigaction, interpose::SignalAction)
#define ISTHMUS_NEXT_SETTER(name) ISTHMUS_NEXT(name, SetHandler)
ISTHMUS_SETS_HANDLER(ISTHMUS_NEXT_SETTER)
#undef ISTHMUS_NEXT_SETTER

__attribute__((constructor)) void hook_them() {
    interpose::hook_signals(ISTHMUS_NEXT_OF(sigaction));
}

}  // namespace
}  // namespace isthmus::accelerator

extern "C" {
using namespace isthmus::accelerator;

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                     struct sigaction* before) {
    const auto next = ISTHMUS_NEXT_OF(sigaction);
    return next == nullptr ? (errno = ENOSYS, -1) : isthmus::interpose::set_action(next, number, action, before);
}
#define ISTHMUS_HOOK(name)                                                                                           \
    __attribute__((visibility("default"))) isthmus::interpose::SignalHandler name(                                   \
        int number, isthmus::interpose::SignalHandler handler) {                                                     \
        const auto next = ISTHMUS_NEXT_OF(name);                                                                     \
        return next == nullptr ? (errno = ENOSYS, SIG_ERR) : isthmus::interpose::set_handler(next, number, handler); \
    }
ISTHMUS_SETS_HANDLER(ISTHMUS_HOOK)
#undef ISTHMUS_HOOK
}

#endif
