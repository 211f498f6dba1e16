// What no program may do to a real driver: a fake one ends the process, saying what was done.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace fake {

// A real driver would hang now and then, write where it should not, or break what somebody records.
[[noreturn]] inline void violation(const char* function, const char* what) {
    std::fprintf(stderr, "fake driver: %s was called %s\n", function, what);
    std::abort();
}

// Ends a child that calls a driver which its parent has begun to use: a real one hangs there, or spoils what is the
// parent's. Every function begins with it.
inline void refuse_forked(const char* function) {
    static std::atomic<bool> forked = false;
    static const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });
    if (registered == 0 && !forked) return;
    violation(function, "in a forked child");
}

}  // namespace fake
