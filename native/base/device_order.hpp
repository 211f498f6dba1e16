// Orders what the processor wrote to memory before a word that a device reads.
#pragma once

namespace isthmus {

// Called between the two, the second of which is a release store. On aarch64 the release order of C++ holds among
// processors: a device on the link or beside the processor is outside of what it covers, and may see the word first. On
// x86 a device sees stores in their order.
inline void order_before_device_reads() {
#if defined(__aarch64__)
    __asm__ volatile("dmb oshst" ::: "memory");
#endif
}

}  // namespace isthmus
