// The device code as functions of the host, to be run thread after thread of a grid of groups of one.
#pragma once

#include <cstdint>

namespace device {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using address = std::uintptr_t;
typedef u32 u32x4 __attribute__((vector_size(16)));

inline thread_local u64 global_id = 0;
inline thread_local u64 global_size = 1;

// What was there before.
inline u32 fetch_or(u32* pointer, u32 value) {
    const u32 before = *pointer;
    *pointer |= value;
    return before;
}

#define KERNEL      inline void
#define COPY_KERNEL inline void
#define DEVICE      inline
#define GLOBAL
#define GLOBAL_ID   device::global_id
#define GLOBAL_SIZE device::global_size
#define LOCAL
#define LOCAL_ID   0u
#define LOCAL_SIZE 1u
#define BARRIER()
#define MOST_THREADS 1
#ifdef ISTHMUS_SLICED
#define FIRST(count) ((count)*GLOBAL_ID / GLOBAL_SIZE)
#define END(count)   ((count) * (GLOBAL_ID + 1) / GLOBAL_SIZE)
#define STEP         ((u64)1)
#define LANES        ((u64)1)
#else
#define FIRST(count) GLOBAL_ID
#define END(count)   (count)
#define STEP         GLOBAL_SIZE
#define LANES        ((u64)(GLOBAL_SIZE % 32 == 0 ? 32 : 1))
#endif
#define ATOMIC_ADD(pointer, value) (*(pointer) += (value))
#define ATOMIC_MIN(pointer, value) (*(pointer) = *(pointer) < (value) ? *(pointer) : (value))
#define ATOMIC_OR(pointer, value)  device::fetch_or((pointer), (value))
#include "kernels/kernels.cl"

#include "kernels/doubles.cl"

#include "kernels/rows.cl"

}  // namespace device
