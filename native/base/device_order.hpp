// Orders what the processor writes to memory, and reads from it, around words that a device reads and writes.
#pragma once

namespace isthmus {

// Called between the two, the second of which is a release store. On aarch64 the release order of C++ holds among
// processors: a device on the link or next to the processor is outside of what it covers, and may see the word first.
// On x86 a device sees stores in their order.
inline void order_before_device_reads() {
#if defined(__aarch64__)
    __asm__ volatile("dmb oshst" ::: "memory");
#endif
}

// Called after a word was read that a device has written, before what it wrote earlier is read.
inline void order_after_device_writes() {
#if defined(__aarch64__)
    __asm__ volatile("dmb oshld" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");  // The processor reads in order; the compiler must, too.
#endif
}

}  // namespace isthmus
