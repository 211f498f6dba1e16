// The driver's functions that are hooked: their names, our functions in their place, and the program's own.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>

#include "interpose/hooks/hooks.hpp"

// X(symbol, suffix for the thread's own default stream, name, since, before, parameters). cuGetProcAddress knows it by
// the name, and programs of versions of CUDA from `since` on and before `before` get it. Names and parameters are those
// of cuda.h, with the suffixes that the driver's library has. A test compares them with NVIDIA's newest: every function
// there that can copy memory of the host is here, taken or only counted.
#define ISTHMUS_HOOKED(X)                                                                                           \
    X(cuMemcpy, _ptds, cuMemcpy, 4000, INT_MAX, (DevicePointer to, DevicePointer from, std::size_t bytes))          \
    X(cuMemcpyAsync, _ptsz, cuMemcpyAsync, 4000, INT_MAX,                                                           \
      (DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream))                                     \
    X(cuMemcpyHtoD_v2, _ptds, cuMemcpyHtoD, 3020, INT_MAX, (DevicePointer to, const void* from, std::size_t bytes)) \
    X(cuMemcpyHtoDAsync_v2, _ptsz, cuMemcpyHtoDAsync, 3020, INT_MAX,                                                \
      (DevicePointer to, const void* from, std::size_t bytes, Stream stream))                                       \
    X(cuMemcpyDtoH_v2, _ptds, cuMemcpyDtoH, 3020, INT_MAX, (void* to, DevicePointer from, std::size_t bytes))       \
    X(cuMemcpyDtoHAsync_v2, _ptsz, cuMemcpyDtoHAsync, 3020, INT_MAX,                                                \
      (void* to, DevicePointer from, std::size_t bytes, Stream stream))                                             \
    X(cuMemcpy2D_v2, _ptds, cuMemcpy2D, 3020, INT_MAX, (const Copy2d* copy))                                        \
    X(cuMemcpy2DUnaligned_v2, _ptds, cuMemcpy2DUnaligned, 3020, INT_MAX, (const Copy2d* copy))                      \
    X(cuMemcpy2DAsync_v2, _ptsz, cuMemcpy2DAsync, 3020, INT_MAX, (const Copy2d* copy, Stream stream))               \
    X(cuMemcpy3D_v2, _ptds, cuMemcpy3D, 3020, INT_MAX, (const Copy3d* copy))                                        \
    X(cuMemcpy3DAsync_v2, _ptsz, cuMemcpy3DAsync, 3020, INT_MAX, (const Copy3d* copy, Stream stream))               \
    X(cuMemcpyBatchAsync, _ptsz, cuMemcpyBatchAsync, 12080, 13000,                                                  \
      (DevicePointer * to, DevicePointer * from, std::size_t * bytes, std::size_t count, CopyAttributes * given,    \
       std::size_t * places, std::size_t kinds, std::size_t * failed, Stream stream))                               \
    X(cuMemcpyBatchAsync_v2, _ptsz, cuMemcpyBatchAsync, 13000, INT_MAX,                                             \
      (DevicePointer * to, DevicePointer * from, std::size_t * bytes, std::size_t count, CopyAttributes * given,    \
       std::size_t * places, std::size_t kinds, Stream stream))                                                     \
    X(cuMemcpyWithAttributesAsync, _ptsz, cuMemcpyWithAttributesAsync, 13020, INT_MAX,                              \
      (DevicePointer to, DevicePointer from, std::size_t bytes, CopyAttributes * given, Stream stream))             \
    X(cuMemcpy3DWithAttributesAsync, _ptsz, cuMemcpy3DWithAttributesAsync, 13020, INT_MAX,                          \
      (Copy3dOperation * operation, unsigned long long flags, Stream stream))                                       \
    X(cuMemcpy3DBatchAsync, _ptsz, cuMemcpy3DBatchAsync, 12080, 13000,                                              \
      (std::size_t count, Copy3dOperation * operations, std::size_t * failed, unsigned long long flags,             \
       Stream stream))                                                                                              \
    X(cuMemcpy3DBatchAsync_v2, _ptsz, cuMemcpy3DBatchAsync, 13000, INT_MAX,                                         \
      (std::size_t count, Copy3dOperation * operations, unsigned long long flags, Stream stream))                   \
    X(cuMemcpy3DPeer, _ptds, cuMemcpy3DPeer, 4000, INT_MAX, (const Copy3d* copy))                                   \
    X(cuMemcpy3DPeerAsync, _ptsz, cuMemcpy3DPeerAsync, 4000, INT_MAX, (const Copy3d* copy, Stream stream))          \
    X(cuMemcpyHtoA_v2, _ptds, cuMemcpyHtoA, 3020, INT_MAX,                                                          \
      (Array to, std::size_t offset, const void* from, std::size_t bytes))                                          \
    X(cuMemcpyHtoAAsync_v2, _ptsz, cuMemcpyHtoAAsync, 3020, INT_MAX,                                                \
      (Array to, std::size_t offset, const void* from, std::size_t bytes, Stream stream))                           \
    X(cuMemcpyAtoH_v2, _ptds, cuMemcpyAtoH, 3020, INT_MAX,                                                          \
      (void* to, Array from, std::size_t offset, std::size_t bytes))                                                \
    X(cuMemcpyAtoHAsync_v2, _ptsz, cuMemcpyAtoHAsync, 3020, INT_MAX,                                                \
      (void* to, Array from, std::size_t offset, std::size_t bytes, Stream stream))                                 \
    X(cuMemHostAlloc, , cuMemHostAlloc, 2020, INT_MAX, (void** memory, std::size_t bytes, unsigned flags))          \
    X(cuMemAllocHost_v2, , cuMemAllocHost, 3020, INT_MAX, (void** memory, std::size_t bytes))                       \
    X(cuMemHostRegister, , cuMemHostRegister, 4000, 6050, (void* memory, std::size_t bytes, unsigned flags))        \
    X(cuMemHostRegister_v2, , cuMemHostRegister, 6050, INT_MAX, (void* memory, std::size_t bytes, unsigned flags))  \
    X(cuMemFreeHost, , cuMemFreeHost, 2000, INT_MAX, (void* memory))                                                \
    X(cuMemHostUnregister, , cuMemHostUnregister, 4000, INT_MAX, (void* memory))                                    \
    X(cuDevicePrimaryCtxReset, , cuDevicePrimaryCtxReset, 7000, 11000, (int device))                                \
    X(cuDevicePrimaryCtxReset_v2, , cuDevicePrimaryCtxReset, 11000, INT_MAX, (int device))                          \
    X(cuDevicePrimaryCtxRelease, , cuDevicePrimaryCtxRelease, 7000, 11000, (int device))                            \
    X(cuDevicePrimaryCtxRelease_v2, , cuDevicePrimaryCtxRelease, 11000, INT_MAX, (int device))                      \
    X(cuCtxDestroy_v2, , cuCtxDestroy, 4000, INT_MAX, (isthmus::cuda::Context context))                             \
    X(cuStreamDestroy_v2, , cuStreamDestroy, 4000, INT_MAX, (Stream stream))                                        \
    X(cuStreamBeginCapture, _ptsz, cuStreamBeginCapture, 10000, 10010, (Stream stream))                             \
    X(cuStreamBeginCapture_v2, _ptsz, cuStreamBeginCapture, 10010, INT_MAX, (Stream stream, int mode))              \
    X(cuStreamBeginCaptureToGraph, _ptsz, cuStreamBeginCaptureToGraph, 12030, INT_MAX,                              \
      (Stream stream, Graph graph, const void* nodes, const void* edges, std::size_t count, int mode))              \
    X(cuStreamEndCapture, _ptsz, cuStreamEndCapture, 10000, INT_MAX, (Stream stream, Graph * graph))                \
    X(cuGetProcAddress, _ptsz, cuGetProcAddress, 11030, 12000,                                                      \
      (const char* name, void** answer, int version, std::uint64_t flags))                                          \
    X(cuGetProcAddress_v2, _ptsz, cuGetProcAddress, 12000, INT_MAX,                                                 \
      (const char* name, void** answer, int version, std::uint64_t flags, int* status))

namespace isthmus::accelerator {

// The driver's own names. NOLINTBEGIN(readability-identifier-naming)
enum class Function : std::size_t {
#define ISTHMUS_NAME(symbol, suffix, name, since, before, parameters) symbol,
    ISTHMUS_HOOKED(ISTHMUS_NAME)
#undef ISTHMUS_NAME
        count
};
// NOLINTEND(readability-identifier-naming)

// The program's own function, as it first looked it up; null where there is no driver.
void* original(Function function, bool per_thread) noexcept;

template <typename Pointer>
Pointer original(Function function, bool per_thread) noexcept {
    return reinterpret_cast<Pointer>(original(function, per_thread));
}

// Whether the process is to be as without the library (ISTHMUS_ACCELERATE=off). The counts say so from the first call
// on that would have been looked at.
bool is_switched_off() noexcept;

// While it lives, the calling thread gets the driver's own functions: its calls are the library's. All threads get them
// where the library is switched off.
class Inside {
  public:
    Inside() noexcept : before_(is_inside) { is_inside = true; }
    ~Inside() { is_inside = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    static bool here() noexcept { return is_inside || in_driver() || is_switched_off(); }
    // Called around a call of the driver by a function that has nothing to clean up, with that function's frame:
    // drivers and other tools call functions by their names, too. If the program leaves the driver's call by a jump,
    // the next call of ours has a frame as old as this one, or older, and so is known not to be inside it.
    static void call_driver(const void* frame) noexcept { driver_since = frame; }
    static void driver_returned() noexcept { driver_since = nullptr; }
    // For a tracer in the same process: odd while the calling thread is inside, and higher after each copy that the
    // library made on that thread.
    static unsigned long mark() noexcept { return 2 * copies + (is_inside ? 1 : 0); }
    static void copied() noexcept { ++copies; }

  private:
    static bool in_driver() noexcept { return __builtin_frame_address(0) < driver_since; }
    static thread_local const void* driver_since __attribute__((tls_model("initial-exec")));
    // The library is preloaded, so that there is room for these next to the program's own.
    static thread_local bool is_inside __attribute__((tls_model("initial-exec")));
    static thread_local unsigned long copies __attribute__((tls_model("initial-exec")));
    bool before_;
};

using interpose::FindSymbol;
using interpose::instead_of;
using interpose::next_dlsym;
using interpose::next_symbol;

}  // namespace isthmus::accelerator
