// The functions that programs get in place of the driver's. Names and parameters are those of cuda.h, with the suffixes
// that the driver's library has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/cuda_api.hpp"

namespace isthmus::accelerator {

using cuda::Array;
using cuda::Copy2d;
using cuda::Copy3d;
using cuda::Copy3dOperation;
using cuda::CopyAttributes;
using cuda::DevicePointer;
using cuda::Graph;
using cuda::ReturnCode;
using cuda::Stream;

}  // namespace isthmus::accelerator

// X(symbol, suffix for the thread's own default stream, parameters). A test compares them with NVIDIA's newest cuda.h:
// every function there that can copy memory of the host is here, taken or only counted.
#define ISTHMUS_STOOD_BEFORE(X)                                                                                        \
    X(cuMemcpy, _ptds, (DevicePointer to, DevicePointer from, std::size_t bytes))                                      \
    X(cuMemcpyAsync, _ptsz, (DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream))                  \
    X(cuMemcpyHtoD_v2, _ptds, (DevicePointer to, const void* from, std::size_t bytes))                                 \
    X(cuMemcpyHtoDAsync_v2, _ptsz, (DevicePointer to, const void* from, std::size_t bytes, Stream stream))             \
    X(cuMemcpyDtoH_v2, _ptds, (void* to, DevicePointer from, std::size_t bytes))                                       \
    X(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, DevicePointer from, std::size_t bytes, Stream stream))                   \
    X(cuMemcpy2D_v2, _ptds, (const Copy2d* copy))                                                                      \
    X(cuMemcpy2DUnaligned_v2, _ptds, (const Copy2d* copy))                                                             \
    X(cuMemcpy2DAsync_v2, _ptsz, (const Copy2d* copy, Stream stream))                                                  \
    X(cuMemcpy3D_v2, _ptds, (const Copy3d* copy))                                                                      \
    X(cuMemcpy3DAsync_v2, _ptsz, (const Copy3d* copy, Stream stream))                                                  \
    X(cuMemcpyBatchAsync, _ptsz,                                                                                       \
      (DevicePointer * to, DevicePointer * from, std::size_t * bytes, std::size_t count, CopyAttributes * given,       \
       std::size_t * places, std::size_t kinds, std::size_t * failed, Stream stream))                                  \
    X(cuMemcpyBatchAsync_v2, _ptsz,                                                                                    \
      (DevicePointer * to, DevicePointer * from, std::size_t * bytes, std::size_t count, CopyAttributes * given,       \
       std::size_t * places, std::size_t kinds, Stream stream))                                                        \
    X(cuMemcpyWithAttributesAsync, _ptsz,                                                                              \
      (DevicePointer to, DevicePointer from, std::size_t bytes, CopyAttributes * given, Stream stream))                \
    X(cuMemcpy3DWithAttributesAsync, _ptsz, (Copy3dOperation * operation, unsigned long long flags, Stream stream))    \
    X(cuMemcpy3DBatchAsync, _ptsz,                                                                                     \
      (std::size_t count, Copy3dOperation * operations, std::size_t * failed, unsigned long long flags,                \
       Stream stream))                                                                                                 \
    X(cuMemcpy3DBatchAsync_v2, _ptsz,                                                                                  \
      (std::size_t count, Copy3dOperation * operations, unsigned long long flags, Stream stream))                      \
    X(cuMemcpy3DPeer, _ptds, (const Copy3d* copy))                                                                     \
    X(cuMemcpy3DPeerAsync, _ptsz, (const Copy3d* copy, Stream stream))                                                 \
    X(cuMemcpyHtoA_v2, _ptds, (Array to, std::size_t offset, const void* from, std::size_t bytes))                     \
    X(cuMemcpyHtoAAsync_v2, _ptsz, (Array to, std::size_t offset, const void* from, std::size_t bytes, Stream stream)) \
    X(cuMemcpyAtoH_v2, _ptds, (void* to, Array from, std::size_t offset, std::size_t bytes))                           \
    X(cuMemcpyAtoHAsync_v2, _ptsz, (void* to, Array from, std::size_t offset, std::size_t bytes, Stream stream))       \
    X(cuMemHostAlloc, , (void** memory, std::size_t bytes, unsigned flags))                                            \
    X(cuMemAllocHost_v2, , (void** memory, std::size_t bytes))                                                         \
    X(cuMemHostRegister_v2, , (void* memory, std::size_t bytes, unsigned flags))                                       \
    X(cuMemFreeHost, , (void* memory))                                                                                 \
    X(cuMemHostUnregister, , (void* memory))                                                                           \
    X(cuDevicePrimaryCtxReset_v2, , (int device))                                                                      \
    X(cuDevicePrimaryCtxRelease_v2, , (int device))                                                                    \
    X(cuCtxDestroy_v2, , (isthmus::cuda::Context context))                                                             \
    X(cuStreamBeginCapture, _ptsz, (Stream stream))                                                                    \
    X(cuStreamBeginCapture_v2, _ptsz, (Stream stream, int mode))                                                       \
    X(cuStreamBeginCaptureToGraph, _ptsz,                                                                              \
      (Stream stream, Graph graph, const void* nodes, const void* edges, std::size_t count, int mode))                 \
    X(cuStreamEndCapture, _ptsz, (Stream stream, Graph * graph))                                                       \
    X(cuGetProcAddress, _ptsz, (const char* name, void** function, int version, std::uint64_t flags))                  \
    X(cuGetProcAddress_v2, _ptsz, (const char* name, void** function, int version, std::uint64_t flags, int* found))

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {
using namespace isthmus::accelerator;
#define ISTHMUS_DECLARE(symbol, suffix, parameters)                                     \
    __attribute__((visibility("default"))) isthmus::cuda::ReturnCode symbol parameters; \
    __attribute__((visibility("default"))) isthmus::cuda::ReturnCode symbol##suffix parameters;
ISTHMUS_STOOD_BEFORE(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE
}
// NOLINTEND(readability-identifier-naming)
