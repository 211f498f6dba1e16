// What each thread of the program needs so that a fault of its can be handled, and what it believes to have set itself.
#pragma once

#include <signal.h>

namespace isthmus::races {

// Whether the library is to do anything in this process (ISTHMUS_RACES_FOLDER, and not ISTHMUS_RACES=off).
bool is_enabled() noexcept;
// Blocked on threads that the program has SIGSEGV blocked on. Nothing sends it.
inline constexpr int fault_is_blocked = SIGSTKFLT;
// Around a fork that calls no handlers.
void before_fork_alone() noexcept;
void after_fork_alone(bool is_child) noexcept;

// Gives the calling thread a stack for handlers that is large enough, once. Where the program has one of its own that
// is as large, that stays.
void begin_thread() noexcept;

// The C library's sigaction, and the program's action for SIGSEGV, which ours comes before.
using SetAction = int (*)(int, const struct sigaction*, struct sigaction*);
SetAction next_sigaction() noexcept;
int set_fault_action(const struct sigaction* action, struct sigaction* before) noexcept;

}  // namespace isthmus::races
