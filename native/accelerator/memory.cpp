// Hooks memcpy and memmove, and passes on all but large ones at once.
//
// The library's own go to the C library's by the linker's --wrap.
#include <cstddef>

#include "accelerator/accelerator.hpp"
#include "accelerator/functions.hpp"
#include "accelerator/staging.hpp"
#include "interpose/deferred_signals.hpp"

// Sanitizers have hooks of their own there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace isthmus::accelerator {
namespace {

// Until the C library's is known: other libraries may begin earlier than this one. No loop, of which the compiler would
// make a call of memcpy.
void* by_hand(void* to, const void* from, std::size_t bytes) {
    void* const begin = to;
    const bool backward = to > from;
#if defined(__x86_64__)
    if (backward) {
        to = static_cast<char*>(to) + bytes - 1;
        from = static_cast<const char*>(from) + bytes - 1;
        asm volatile("std; rep movsb; cld" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory", "cc");
    } else {
        asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    }
#else
    auto* const target = static_cast<volatile char*>(to);
    const auto* const source = static_cast<const volatile char*>(from);
    for (std::size_t i = 0; i < bytes; ++i) {
        const std::size_t at = backward ? bytes - 1 - i : i;
        target[at] = source[at];
    }
#endif
    return begin;
}

MemoryCopy next_memcpy = &by_hand, next_memmove = &by_hand;

__attribute__((constructor)) void find_next() {
    if (void* found = next_symbol("memcpy")) next_memcpy = reinterpret_cast<MemoryCopy>(found);
    if (void* found = next_symbol("memmove")) next_memmove = reinterpret_cast<MemoryCopy>(found);
}

// Nothing is to be cleaned up here, and it is not noexcept: the program may leave by a jump, or its thread may end.
__attribute__((noinline)) void* large(void* to, const void* from, std::size_t bytes, MemoryCopy next,
                                      const void* site) {
    if (PinnedMemory::is_any() && !may_be_cancelled_anywhere()) {
        StagedCopy copy{static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes, site};
        while (true) {
            const SignalMask before = interpose::defer_signals();
            const StagedStep step = staged(copy);
            interpose::deliver_signals(before);
            if (step == StagedStep::done) return to;
            if (step == StagedStep::plain) break;
            if (step == StagedStep::sample) next(to, from, copy.plain.bytes);
        }
    }
    return next(to, from, bytes);
}

}  // namespace
}  // namespace isthmus::accelerator

extern "C" {
using namespace isthmus::accelerator;

__attribute__((visibility("default"))) void* memcpy(void* to, const void* from, std::size_t bytes) {
    if (__builtin_expect(bytes < least_staged_bytes, 1)) return next_memcpy(to, from, bytes);
    return large(to, from, bytes, next_memcpy, __builtin_return_address(0));
}
__attribute__((visibility("default"))) void* memmove(void* to, const void* from, std::size_t bytes) {
    if (__builtin_expect(bytes < least_staged_bytes, 1)) return next_memmove(to, from, bytes);
    return large(to, from, bytes, next_memmove, __builtin_return_address(0));
}
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the linker's names.
void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
    return next_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
    return next_memmove(to, from, bytes);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
}

#endif
