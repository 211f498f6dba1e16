// Spells the words of kernels.cl and doubles.cl for CUDA as clang compiles it, without any header of a toolkit.
// No include guard: this text opens a translation unit that is compiled from one string.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u32 u32x4 __attribute__((vector_size(16)));  // one register quadruple: becomes ld.v4 and st.v4
typedef u64 address;

#define KERNEL      extern "C" __attribute__((global)) void
// Of blocks of copy_threads: more registers than 64 a thread, and none of them could start.
#define COPY_KERNEL extern "C" __attribute__((global, launch_bounds(1024))) void
#define DEVICE      static inline __attribute__((device, always_inline))
#define GLOBAL
#define GLOBAL_ID                  ((u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define GLOBAL_SIZE                ((u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x())
#define LOCAL                      __attribute__((shared))
#define LOCAL_ID                   ((u32)__nvvm_read_ptx_sreg_tid_x())
#define LOCAL_SIZE                 ((u32)__nvvm_read_ptx_sreg_ntid_x())
#define BARRIER()                  __syncthreads()
#define MOST_THREADS               256
#define FIRST(count)               GLOBAL_ID
#define END(count)                 (count)
#define STEP                       GLOBAL_SIZE
#define LANES                      ((u64)(GLOBAL_SIZE % 32 == 0 ? 32 : 1))  // a warp, where the grid has whole ones
#define ATOMIC_ADD(pointer, value) ((void)__atomic_fetch_add((pointer), (value), __ATOMIC_RELAXED))
#define ATOMIC_MIN(pointer, value) ((void)__atomic_fetch_min((pointer), (value), __ATOMIC_RELAXED))
#define ATOMIC_OR(pointer, value)  __atomic_fetch_or((pointer), (value), __ATOMIC_RELAXED)  // what was there before
