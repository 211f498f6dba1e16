// Hooks the functions that set handlers of signals: some are to wait while the library copies.
#include "accelerator/functions.hpp"
#include "interpose/deferred_signals.hpp"

#include <cerrno>

// Sanitizers have hooks of their own there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::accelerator {
namespace {

using interpose::known_or_found;
using SetHandler = interpose::SignalHandler (*)(int, interpose::SignalHandler);

// X(name): all that set a handler and return the one before.
#define ISTHMUS_SETS_HANDLER(X) X(signal) X(bsd_signal) X(ssignal) X(sysv_signal) X(__sysv_signal) X(sigset)

interpose::SignalAction next_sigaction = nullptr;
#define ISTHMUS_NEXT(name) SetHandler next_##name = nullptr;
ISTHMUS_SETS_HANDLER(ISTHMUS_NEXT)
#undef ISTHMUS_NEXT

__attribute__((constructor)) void find_next_setters() {
    interpose::hook_signals(known_or_found(next_sigaction, "sigaction"));
#define ISTHMUS_FIND(name) known_or_found(next_##name, #name);
    ISTHMUS_SETS_HANDLER(ISTHMUS_FIND)
#undef ISTHMUS_FIND
}

}  // namespace
}  // namespace isthmus::accelerator

extern "C" {
using namespace isthmus::accelerator;

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* action,
                                                     struct sigaction* before) {
    const auto next = known_or_found(next_sigaction, "sigaction");
    return next == nullptr ? (errno = ENOSYS, -1) : isthmus::interpose::set_action(next, number, action, before);
}
#define ISTHMUS_HOOK(name)                                                                                           \
    __attribute__((visibility("default"))) isthmus::interpose::SignalHandler name(                                   \
        int number, isthmus::interpose::SignalHandler handler) {                                                     \
        const auto next = known_or_found(next_##name, #name);                                                        \
        return next == nullptr ? (errno = ENOSYS, SIG_ERR) : isthmus::interpose::set_handler(next, number, handler); \
    }
ISTHMUS_SETS_HANDLER(ISTHMUS_HOOK)
#undef ISTHMUS_HOOK
}

#endif
