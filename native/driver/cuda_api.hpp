// The CUDA driver API, opened at run time: the types, constants and functions that Isthmus uses.
//
// Declared here by hand, so that building needs no CUDA toolkit; a test compares them with NVIDIA's cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fork.hpp"
#include "driver/library.hpp"

namespace isthmus::cuda {

using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Module = struct ModuleTag*;
using Kernel = struct KernelTag*;
using Array = struct ArrayTag*;
using MemoryPool = struct MemoryPoolTag*;
using Graph = struct GraphTag*;
using GraphExecutable = struct GraphExecutableTag*;
using ReturnCode = int;

struct Uuid {
    char bytes[16];
};

// CUDA_ARRAY_DESCRIPTOR
struct ArrayDescriptor {
    std::size_t width_elements, height;
    int format;
    unsigned channels;
};

// CUmemLocation
struct MemoryLocation {
    int type, id;
};

// CUmemPoolProps. Older headers name only the first 24 bytes and reserve the rest.
struct MemoryPoolProperties {
    int allocation_type, handle_types;
    MemoryLocation location;
    void* security_attributes;
    std::size_t most_bytes;
    unsigned short usage;
    unsigned char reserved[54];
};

// CUDA_MEMCPY2D, of which the sides are either host memory or linear device memory.
struct Copy2d {
    std::size_t source_x_bytes, source_y;
    int source_type;
    const void* source_host;
    DevicePointer source_device;
    Array source_array;
    std::size_t source_pitch_bytes;
    std::size_t destination_x_bytes, destination_y;
    int destination_type;
    void* destination_host;
    DevicePointer destination_device;
    Array destination_array;
    std::size_t destination_pitch_bytes;
    std::size_t width_bytes, height;
};

// CUDA_MEMCPY3D, likewise.
struct Copy3d {
    std::size_t source_x_bytes, source_y, source_z, source_level;
    int source_type;
    const void* source_host;
    DevicePointer source_device;
    Array source_array;
    void* reserved_of_source;
    std::size_t source_pitch_bytes, source_height;
    std::size_t destination_x_bytes, destination_y, destination_z, destination_level;
    int destination_type;
    void* destination_host;
    DevicePointer destination_device;
    Array destination_array;
    void* reserved_of_destination;
    std::size_t destination_pitch_bytes, destination_height;
    std::size_t width_bytes, height, depth;
};

// CUDA_MEMCPY3D_BATCH_OP, of which the sides are not looked at: a kind each, and 32 bytes of which that decides.
struct Copy3dOperand {
    int type;
    std::uint64_t place[4];
};
struct Copy3dOperation {
    Copy3dOperand source, destination;
    std::size_t width, height, depth;
    int source_access_order;
    unsigned flags;
};

// CUmemcpyAttributes
struct CopyAttributes {
    int source_access_order;
    MemoryLocation source_hint, destination_hint;
    unsigned flags;
};

inline constexpr ReturnCode success = 0;
inline constexpr ReturnCode error_out_of_memory = 2;
inline constexpr ReturnCode error_not_initialized = 3;
inline constexpr ReturnCode error_no_device = 100;
inline constexpr ReturnCode error_invalid_context = 201;
inline constexpr ReturnCode error_not_ready = 600;
inline constexpr ReturnCode error_stream_capture_invalidated = 901;
inline constexpr ReturnCode error_stream_capture_unjoined = 904;
inline constexpr ReturnCode error_peer_access_already_enabled = 704;
inline constexpr ReturnCode error_context_is_destroyed = 709;
inline constexpr ReturnCode error_not_supported = 801;
inline constexpr ReturnCode error_stream_capture_unsupported = 900;
inline constexpr ReturnCode error_stream_capture_implicit = 906;
inline constexpr ReturnCode error_captured_event = 907;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned stream_wait_value_geq = 0;
inline constexpr unsigned stream_write_value_default = 0;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned host_alloc_device_map = 2;
inline constexpr unsigned host_alloc_write_combined = 4;
inline constexpr unsigned host_register_portable = 1;
inline constexpr unsigned host_register_device_map = 2;
inline constexpr unsigned host_register_read_only = 8;
inline constexpr unsigned mem_attach_global = 1;
inline constexpr Device device_cpu = -1;
inline constexpr int advise_set_read_mostly = 1;
inline constexpr int advise_unset_read_mostly = 2;
inline constexpr int advise_set_preferred_location = 3;
inline constexpr int advise_unset_preferred_location = 4;
inline constexpr int advise_set_accessed_by = 5;
inline constexpr int advise_unset_accessed_by = 6;
inline constexpr int array_format_float = 0x20;
inline constexpr int allocation_type_pinned = 1;
inline constexpr int location_type_invalid = 0;
inline constexpr int location_type_device = 1;
inline constexpr int location_type_host = 2;
inline constexpr int memory_type_host = 1;
inline constexpr int memory_type_device = 2;
inline constexpr int pointer_attribute_context = 1;
inline constexpr int pointer_attribute_memory_type = 2;
inline constexpr int pointer_attribute_device_pointer = 3;
inline constexpr int pointer_attribute_is_managed = 8;
inline constexpr int pointer_attribute_device_ordinal = 9;
inline constexpr int pointer_attribute_range_start_addr = 11;
inline constexpr int pointer_attribute_range_size = 12;
inline constexpr int source_access_order_stream = 1;
inline constexpr int source_access_order_any = 3;
inline constexpr unsigned copy_flag_prefer_overlap_with_compute = 1;
inline constexpr int stream_capture_mode_global = 0;
inline constexpr int stream_capture_mode_thread_local = 1;
inline constexpr int stream_capture_mode_relaxed = 2;
inline constexpr int stream_capture_status_none = 0;
inline constexpr int pool_attribute_release_threshold = 4;

inline constexpr int attribute_max_pitch = 11;
inline constexpr int attribute_multiprocessor_count = 16;
inline constexpr int attribute_can_map_host_memory = 19;
inline constexpr int attribute_integrated = 18;
inline constexpr int attribute_maximum_texture2d_width = 22;
inline constexpr int attribute_maximum_texture2d_height = 23;
inline constexpr int attribute_async_engine_count = 40;
inline constexpr int attribute_compute_capability_major = 75;
inline constexpr int attribute_compute_capability_minor = 76;
inline constexpr int attribute_managed_memory = 83;
inline constexpr int attribute_pageable_memory_access = 88;
inline constexpr int attribute_concurrent_managed_access = 89;
inline constexpr int attribute_host_register_supported = 99;
inline constexpr int attribute_memory_pools_supported = 115;

// X(function, exported symbol, first CUDA version, parameters)
#define ISTHMUS_CUDA_FUNCTIONS(X)                                                                                      \
    X(cuInit, "cuInit", "CUDA 2.0", (unsigned))                                                                        \
    X(cuDriverGetVersion, "cuDriverGetVersion", "CUDA 2.2", (int*))                                                    \
    X(cuGetErrorName, "cuGetErrorName", "CUDA 6.0", (ReturnCode, const char**))                                        \
    X(cuGetErrorString, "cuGetErrorString", "CUDA 6.0", (ReturnCode, const char**))                                    \
    X(cuDeviceGetCount, "cuDeviceGetCount", "CUDA 2.0", (int*))                                                        \
    X(cuDeviceGet, "cuDeviceGet", "CUDA 2.0", (Device*, int))                                                          \
    X(cuDeviceGetName, "cuDeviceGetName", "CUDA 2.0", (char*, int, Device))                                            \
    X(cuDeviceGetUuid, "cuDeviceGetUuid", "CUDA 9.2", (Uuid*, Device))                                                 \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", "CUDA 3.2", (std::size_t*, Device))                                     \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", "CUDA 2.0", (int*, int, Device))                                   \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", "CUDA 4.1", (char*, int, Device))                                    \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", "CUDA 7.0", (Context*, Device))                            \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", "CUDA 11.0", (Device))                                \
    X(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", "CUDA 7.0", (Device, unsigned*, int*))                 \
    X(cuCtxGetId, "cuCtxGetId", "CUDA 12.0", (Context, unsigned long long*))                                           \
    X(cuCtxRecordEvent, "cuCtxRecordEvent", "CUDA 12.5", (Context, Event))                                             \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", "CUDA 4.0", (Context))                                                       \
    X(cuCtxGetCurrent, "cuCtxGetCurrent", "CUDA 4.0", (Context*))                                                      \
    X(cuMemGetInfo, "cuMemGetInfo_v2", "CUDA 3.2", (std::size_t*, std::size_t*))                                       \
    X(cuMemAlloc, "cuMemAlloc_v2", "CUDA 3.2", (DevicePointer*, std::size_t))                                          \
    X(cuMemFree, "cuMemFree_v2", "CUDA 3.2", (DevicePointer))                                                          \
    X(cuMemAllocManaged, "cuMemAllocManaged", "CUDA 6.0", (DevicePointer*, std::size_t, unsigned))                     \
    X(cuMemAllocPitch, "cuMemAllocPitch_v2", "CUDA 3.2",                                                               \
      (DevicePointer*, std::size_t*, std::size_t, std::size_t, unsigned))                                              \
    X(cuArrayCreate, "cuArrayCreate_v2", "CUDA 3.2", (Array*, const ArrayDescriptor*))                                 \
    X(cuArrayDestroy, "cuArrayDestroy", "CUDA 2.0", (Array))                                                           \
    X(cuMemGetAddressRange, "cuMemGetAddressRange_v2", "CUDA 3.2", (DevicePointer*, std::size_t*, DevicePointer))      \
    X(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", "CUDA 11.0", (unsigned long long*, void*))           \
    X(cuMemRelease, "cuMemRelease", "CUDA 10.2", (unsigned long long))                                                 \
    X(cuMemPoolCreate, "cuMemPoolCreate", "CUDA 11.2", (MemoryPool*, const MemoryPoolProperties*))                     \
    X(cuMemPoolDestroy, "cuMemPoolDestroy", "CUDA 11.2", (MemoryPool))                                                 \
    X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute", "CUDA 11.2", (MemoryPool, int, void*))                           \
    X(cuMemPoolTrimTo, "cuMemPoolTrimTo", "CUDA 11.2", (MemoryPool, std::size_t))                                      \
    X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", "CUDA 11.2",                                                 \
      (DevicePointer*, std::size_t, MemoryPool, Stream))                                                               \
    X(cuMemFreeAsync, "cuMemFreeAsync", "CUDA 11.2", (DevicePointer, Stream))                                          \
    X(cuMemHostAlloc, "cuMemHostAlloc", "CUDA 2.2", (void**, std::size_t, unsigned))                                   \
    X(cuMemFreeHost, "cuMemFreeHost", "CUDA 2.0", (void*))                                                             \
    X(cuMemHostRegister, "cuMemHostRegister_v2", "CUDA 6.5", (void*, std::size_t, unsigned))                           \
    X(cuMemHostUnregister, "cuMemHostUnregister", "CUDA 4.0", (void*))                                                 \
    X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", "CUDA 3.2", (DevicePointer*, void*, unsigned))        \
    X(cuPointerGetAttributes, "cuPointerGetAttributes", "CUDA 7.0", (unsigned, int*, void**, DevicePointer))           \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", "CUDA 3.2", (DevicePointer, const void*, std::size_t))                          \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", "CUDA 3.2", (void*, DevicePointer, std::size_t))                                \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", "CUDA 3.2", (DevicePointer, const void*, std::size_t, Stream))        \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", "CUDA 3.2", (void*, DevicePointer, std::size_t, Stream))              \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", "CUDA 3.2", (DevicePointer, DevicePointer, std::size_t, Stream))      \
    X(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", "CUDA 4.0",                                                              \
      (DevicePointer, Context, DevicePointer, Context, std::size_t, Stream))                                           \
    X(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", "CUDA 3.2", (const Copy2d*, Stream))                                      \
    X(cuMemcpy3DAsync, "cuMemcpy3DAsync_v2", "CUDA 3.2", (const Copy3d*, Stream))                                      \
    X(cuMemcpyBatchAsync, "cuMemcpyBatchAsync", "CUDA 12.8",                                                           \
      (DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t,          \
       std::size_t*, Stream))                                                                                          \
    X(cuMemcpyBatchAsync2, "cuMemcpyBatchAsync_v2", "CUDA 13.0",                                                       \
      (DevicePointer*, DevicePointer*, std::size_t*, std::size_t, CopyAttributes*, std::size_t*, std::size_t, Stream)) \
    X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", "CUDA 4.0", (int*, Device, Device))                              \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", "CUDA 4.0", (Context, unsigned))                                 \
    X(cuMemsetD8Async, "cuMemsetD8Async", "CUDA 3.2", (DevicePointer, unsigned char, std::size_t, Stream))             \
    X(cuMemPrefetchAsync, "cuMemPrefetchAsync", "CUDA 8.0", (DevicePointer, std::size_t, Device, Stream))              \
    X(cuMemAdvise, "cuMemAdvise", "CUDA 8.0", (DevicePointer, std::size_t, int, Device))                               \
    X(cuStreamCreate, "cuStreamCreate", "CUDA 2.0", (Stream*, unsigned))                                               \
    X(cuStreamDestroy, "cuStreamDestroy_v2", "CUDA 4.0", (Stream))                                                     \
    X(cuStreamSynchronize, "cuStreamSynchronize", "CUDA 2.0", (Stream))                                                \
    X(cuStreamQuery, "cuStreamQuery", "CUDA 2.0", (Stream))                                                            \
    X(cuStreamGetFlags, "cuStreamGetFlags", "CUDA 7.0", (Stream, unsigned*))                                           \
    X(cuStreamGetCtx, "cuStreamGetCtx", "CUDA 9.2", (Stream, Context*))                                                \
    X(cuStreamGetId, "cuStreamGetId", "CUDA 12.0", (Stream, unsigned long long*))                                      \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", "CUDA 3.2", (Stream, Event, unsigned))                                   \
    X(cuStreamWaitValue32, "cuStreamWaitValue32_v2", "CUDA 11.7", (Stream, DevicePointer, std::uint32_t, unsigned))    \
    X(cuStreamWriteValue32, "cuStreamWriteValue32_v2", "CUDA 11.7", (Stream, DevicePointer, std::uint32_t, unsigned))  \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", "CUDA 10.1", (Stream, int))                                     \
    X(cuStreamEndCapture, "cuStreamEndCapture", "CUDA 10.0", (Stream, Graph*))                                         \
    X(cuStreamIsCapturing, "cuStreamIsCapturing", "CUDA 10.0", (Stream, int*))                                         \
    X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", "CUDA 10.1", (int*))                     \
    X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", "CUDA 11.4",                                         \
      (GraphExecutable*, Graph, unsigned long long))                                                                   \
    X(cuGraphLaunch, "cuGraphLaunch", "CUDA 10.0", (GraphExecutable, Stream))                                          \
    X(cuGraphDestroy, "cuGraphDestroy", "CUDA 10.0", (Graph))                                                          \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", "CUDA 10.0", (GraphExecutable))                                        \
    X(cuEventCreate, "cuEventCreate", "CUDA 2.0", (Event*, unsigned))                                                  \
    X(cuEventDestroy, "cuEventDestroy_v2", "CUDA 4.0", (Event))                                                        \
    X(cuEventRecord, "cuEventRecord", "CUDA 2.0", (Event, Stream))                                                     \
    X(cuEventQuery, "cuEventQuery", "CUDA 2.0", (Event))                                                               \
    X(cuEventSynchronize, "cuEventSynchronize", "CUDA 2.0", (Event))                                                   \
    X(cuEventElapsedTime, "cuEventElapsedTime", "CUDA 2.0", (float*, Event, Event))                                    \
    X(cuModuleLoadData, "cuModuleLoadData", "CUDA 2.0", (Module*, const void*))                                        \
    X(cuModuleUnload, "cuModuleUnload", "CUDA 2.0", (Module))                                                          \
    X(cuModuleGetFunction, "cuModuleGetFunction", "CUDA 2.0", (Kernel*, Module, const char*))                          \
    X(cuLaunchKernel, "cuLaunchKernel", "CUDA 4.0",                                                                    \
      (Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))

struct Api {
#define ISTHMUS_DECLARE(function, symbol, since, parameters) \
    Function<ReturnCode parameters> function{symbol, since, nullptr};
    ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE

    std::string library;

    // Fails with library_absent. A function that the driver lacks stays null and fails only when it is called.
    static Result<Api> open();

    // Why nothing may be called: in a child that was forked after open(), where the driver hangs or spoils what is the
    // parent's. Whoever calls a function without call() asks first.
    Status usable() const { return generation_ == fork_generation() ? Status() : forked(); }
    // Calls `function`, naming it in the failure: "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
    template <typename... Parameters, typename... Arguments>
    Status call(const Function<ReturnCode(Parameters...)>& function, Arguments... arguments) const {
        ISTHMUS_TRY(usable());
        if (!function) return function.absent();
        const ReturnCode code = function(arguments...);
        return code == success ? Status() : failure(function.name, code);
    }
    Status failure(const char* function, ReturnCode code) const;

  private:
    static Status forked();
    unsigned generation_ = fork_generation();  // of the process that opened it
};

}  // namespace isthmus::cuda
