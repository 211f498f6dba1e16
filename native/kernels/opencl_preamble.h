// Spells the words of kernels.cl and doubles.cl for OpenCL C 1.2, its core alone.
// No include guard: this text opens a program that is compiled from one string.

typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef uint4 u32x4;
typedef uintptr_t address;

#define KERNEL       __kernel void
#define COPY_KERNEL  __kernel void
#define DEVICE       static inline
#define GLOBAL       __global
#define GLOBAL_ID    ((u64)get_global_id(0))
#define GLOBAL_SIZE  ((u64)get_global_size(0))
#define LOCAL        __local
#define LOCAL_ID     ((u32)get_local_id(0))
#define LOCAL_SIZE   ((u32)get_local_size(0))
#define BARRIER()    barrier(CLK_LOCAL_MEM_FENCE)
// Threads of a group: block_threads of kernels.hpp.
#define MOST_THREADS 256

// Which of `count` units a work-item takes: on a GPU neighbours, so that accesses join; on a CPU (built with
// ISTHMUS_SLICED) a slice of its own, so that cores do not share lines.
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
#define ATOMIC_ADD(pointer, value) ((void)atomic_add((pointer), (value)))
#define ATOMIC_MIN(pointer, value) ((void)atomic_min((pointer), (value)))
#define ATOMIC_OR(pointer, value)  atomic_or((pointer), (value))  // what was there before
