// OpenCL, opened at run time through a loader or as one vendor's driver: the types, constants and functions in use.
//
// Declared here by hand, so that building needs no OpenCL headers; a test compares them with Khronos' cl.h and
// cl_icd.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/library.hpp"

namespace isthmus::opencl {

using Platform = struct PlatformTag*;
using Device = struct DeviceTag*;
using Context = struct ContextTag*;
using Queue = struct QueueTag*;
using Buffer = struct BufferTag*;
using Program = struct ProgramTag*;
using Kernel = struct KernelTag*;
using Event = struct EventTag*;
using ReturnCode = std::int32_t;
using Bool = std::uint32_t;
using Flags = std::uint64_t;
using Properties = std::intptr_t;
using ContextNotify = void (*)(const char*, const void*, std::size_t, void*);
using ProgramNotify = void (*)(Program, void*);
using SvmFreeNotify = void (*)(Queue, std::uint32_t, void**, void*);

inline constexpr ReturnCode success = 0;
inline constexpr ReturnCode device_not_found = -1;
inline constexpr ReturnCode mem_object_allocation_failure = -4;
inline constexpr ReturnCode out_of_resources = -5;
inline constexpr ReturnCode out_of_host_memory = -6;
inline constexpr ReturnCode invalid_operation = -59;
inline constexpr ReturnCode invalid_buffer_size = -61;

inline constexpr Bool non_blocking = 0;
inline constexpr Bool blocking = 1;
inline constexpr const Event* no_wait = nullptr;
inline constexpr Event* no_event = nullptr;

inline constexpr std::uint32_t platform_name = 0x0902;
inline constexpr std::uint32_t platform_version = 0x0901;
inline constexpr std::uint32_t platform_extensions = 0x0904;
inline constexpr std::uint32_t device_type = 0x1000;
inline constexpr std::uint32_t device_max_compute_units = 0x1002;
inline constexpr std::uint32_t device_max_mem_alloc_size = 0x1010;
inline constexpr std::uint32_t device_global_mem_size = 0x101F;
inline constexpr std::uint32_t device_platform = 0x1031;
inline constexpr std::uint32_t device_name = 0x102B;
inline constexpr std::uint32_t device_vendor = 0x102C;
inline constexpr std::uint32_t device_driver_version = 0x102D;
inline constexpr std::uint32_t device_version = 0x102F;
inline constexpr std::uint32_t device_host_unified_memory = 0x1035;
inline constexpr std::uint32_t device_double_fp_config = 0x1032;
inline constexpr std::uint32_t device_svm_capabilities = 0x1053;
inline constexpr std::uint32_t device_pci_bus_nv = 0x4008;
inline constexpr std::uint32_t device_pci_slot_nv = 0x4009;
inline constexpr std::uint32_t device_pci_domain_nv = 0x400A;
inline constexpr std::uint32_t device_topology_amd = 0x4037;
inline constexpr std::uint32_t device_pci_bus_info_khr = 0x410F;
inline constexpr Flags device_type_cpu = 1 << 1;
inline constexpr Flags device_type_all = 0xFFFFFFFF;
inline constexpr Flags svm_coarse_grain_buffer = 1 << 0;

inline constexpr std::uint32_t device_image_support = 0x1016;
inline constexpr std::uint32_t channel_r = 0x10B0;
inline constexpr std::uint32_t channel_float = 0x10DE;
inline constexpr std::uint32_t mem_object_image_2d = 0x10F1;
inline constexpr std::uint32_t mem_object_buffer = 0x10F0;
inline constexpr std::uint32_t mem_type = 0x1100;
inline constexpr std::uint32_t mem_flags = 0x1101;
inline constexpr std::uint32_t mem_size = 0x1102;
inline constexpr std::uint32_t mem_map_count = 0x1104;
inline constexpr std::uint32_t mem_reference_count = 0x1105;
inline constexpr std::uint32_t mem_context = 0x1106;
inline constexpr Flags mem_read_write = 1 << 0;
inline constexpr Flags mem_write_only = 1 << 1;
inline constexpr Flags mem_read_only = 1 << 2;
inline constexpr Flags mem_use_host_ptr = 1 << 3;
inline constexpr Flags mem_alloc_host_ptr = 1 << 4;
inline constexpr Flags mem_copy_host_ptr = 1 << 5;
inline constexpr Flags mem_host_write_only = 1 << 7;
inline constexpr Flags mem_host_read_only = 1 << 8;
inline constexpr Flags map_read = 1 << 0;
inline constexpr Flags map_write = 1 << 1;
inline constexpr Flags map_write_invalidate_region = 1 << 2;
inline constexpr std::uint32_t buffer_create_type_region = 0x1220;
inline constexpr std::uint32_t image_element_size = 0x1111;
inline constexpr std::uint32_t queue_context = 0x1090;
inline constexpr std::uint32_t queue_device = 0x1091;
inline constexpr std::uint32_t queue_properties = 0x1093;
inline constexpr Flags queue_out_of_order_exec_mode_enable = 1 << 0;
inline constexpr Flags queue_profiling_enable = 1 << 1;
inline constexpr Flags queue_on_device = 1 << 2;
inline constexpr std::uint32_t kernel_function_name = 0x1190;
inline constexpr std::uint32_t program_build_log = 0x1183;
inline constexpr std::uint32_t event_command_execution_status = 0x11D3;
inline constexpr std::int32_t complete = 0;
inline constexpr std::uint32_t profiling_command_queued = 0x1280;
inline constexpr std::uint32_t profiling_command_start = 0x1282;
inline constexpr std::uint32_t profiling_command_end = 0x1283;

// struct cl_device_pci_bus_info_khr
struct PciBusInfo {
    std::uint32_t domain, bus, device, function;
};

// cl_buffer_region
struct BufferRegion {
    std::size_t origin, bytes;
};

// cl_image_format
struct ImageFormat {
    std::uint32_t channel_order, channel_type;
};

// cl_image_desc
struct ImageDescriptor {
    std::uint32_t type;
    std::size_t width, height, depth, array_size, row_pitch_bytes, slice_pitch_bytes;
    std::uint32_t mip_levels, samples;
    Buffer buffer;
};

// X(function, place in the dispatch table that every ICD object begins with, first OpenCL version, result, parameters)
#define ISTHMUS_OPENCL_FUNCTIONS(X)                                                                                    \
    X(clGetPlatformInfo, 1, "OpenCL 1.0", ReturnCode, (Platform, std::uint32_t, std::size_t, void*, std::size_t*))     \
    X(clGetDeviceIDs, 2, "OpenCL 1.0", ReturnCode, (Platform, Flags, std::uint32_t, Device*, std::uint32_t*))          \
    X(clGetDeviceInfo, 3, "OpenCL 1.0", ReturnCode, (Device, std::uint32_t, std::size_t, void*, std::size_t*))         \
    X(clCreateContext, 4, "OpenCL 1.0", Context,                                                                       \
      (const Properties*, std::uint32_t, const Device*, ContextNotify, void*, ReturnCode*))                            \
    X(clReleaseContext, 7, "OpenCL 1.0", ReturnCode, (Context))                                                        \
    X(clCreateCommandQueue, 9, "OpenCL 1.0", Queue, (Context, Device, Flags, ReturnCode*))                             \
    X(clRetainCommandQueue, 10, "OpenCL 1.0", ReturnCode, (Queue))                                                     \
    X(clReleaseCommandQueue, 11, "OpenCL 1.0", ReturnCode, (Queue))                                                    \
    X(clGetCommandQueueInfo, 12, "OpenCL 1.0", ReturnCode, (Queue, std::uint32_t, std::size_t, void*, std::size_t*))   \
    X(clCreateBuffer, 14, "OpenCL 1.0", Buffer, (Context, Flags, std::size_t, void*, ReturnCode*))                     \
    X(clRetainMemObject, 17, "OpenCL 1.0", ReturnCode, (Buffer))                                                       \
    X(clReleaseMemObject, 18, "OpenCL 1.0", ReturnCode, (Buffer))                                                      \
    X(clGetMemObjectInfo, 20, "OpenCL 1.0", ReturnCode, (Buffer, std::uint32_t, std::size_t, void*, std::size_t*))     \
    X(clGetImageInfo, 21, "OpenCL 1.0", ReturnCode, (Buffer, std::uint32_t, std::size_t, void*, std::size_t*))         \
    X(clCreateProgramWithSource, 26, "OpenCL 1.0", Program,                                                            \
      (Context, std::uint32_t, const char**, const std::size_t*, ReturnCode*))                                         \
    X(clReleaseProgram, 29, "OpenCL 1.0", ReturnCode, (Program))                                                       \
    X(clBuildProgram, 30, "OpenCL 1.0", ReturnCode,                                                                    \
      (Program, std::uint32_t, const Device*, const char*, ProgramNotify, void*))                                      \
    X(clGetProgramBuildInfo, 33, "OpenCL 1.0", ReturnCode,                                                             \
      (Program, Device, std::uint32_t, std::size_t, void*, std::size_t*))                                              \
    X(clCreateKernel, 34, "OpenCL 1.0", Kernel, (Program, const char*, ReturnCode*))                                   \
    X(clReleaseKernel, 37, "OpenCL 1.0", ReturnCode, (Kernel))                                                         \
    X(clSetKernelArg, 38, "OpenCL 1.0", ReturnCode, (Kernel, std::uint32_t, std::size_t, const void*))                 \
    X(clGetKernelInfo, 39, "OpenCL 1.0", ReturnCode, (Kernel, std::uint32_t, std::size_t, void*, std::size_t*))        \
    X(clWaitForEvents, 41, "OpenCL 1.0", ReturnCode, (std::uint32_t, const Event*))                                    \
    X(clGetEventInfo, 42, "OpenCL 1.0", ReturnCode, (Event, std::uint32_t, std::size_t, void*, std::size_t*))          \
    X(clRetainEvent, 43, "OpenCL 1.0", ReturnCode, (Event))                                                            \
    X(clReleaseEvent, 44, "OpenCL 1.0", ReturnCode, (Event))                                                           \
    X(clGetEventProfilingInfo, 45, "OpenCL 1.0", ReturnCode, (Event, std::uint32_t, std::size_t, void*, std::size_t*)) \
    X(clFlush, 46, "OpenCL 1.0", ReturnCode, (Queue))                                                                  \
    X(clFinish, 47, "OpenCL 1.0", ReturnCode, (Queue))                                                                 \
    X(clEnqueueReadBuffer, 48, "OpenCL 1.0", ReturnCode,                                                               \
      (Queue, Buffer, Bool, std::size_t, std::size_t, void*, std::uint32_t, const Event*, Event*))                     \
    X(clEnqueueWriteBuffer, 49, "OpenCL 1.0", ReturnCode,                                                              \
      (Queue, Buffer, Bool, std::size_t, std::size_t, const void*, std::uint32_t, const Event*, Event*))               \
    X(clEnqueueCopyBuffer, 50, "OpenCL 1.0", ReturnCode,                                                               \
      (Queue, Buffer, Buffer, std::size_t, std::size_t, std::size_t, std::uint32_t, const Event*, Event*))             \
    X(clEnqueueReadImage, 51, "OpenCL 1.0", ReturnCode,                                                                \
      (Queue, Buffer, Bool, const std::size_t*, const std::size_t*, std::size_t, std::size_t, void*, std::uint32_t,    \
       const Event*, Event*))                                                                                          \
    X(clEnqueueWriteImage, 52, "OpenCL 1.0", ReturnCode,                                                               \
      (Queue, Buffer, Bool, const std::size_t*, const std::size_t*, std::size_t, std::size_t, const void*,             \
       std::uint32_t, const Event*, Event*))                                                                           \
    X(clEnqueueMapBuffer, 56, "OpenCL 1.0", void*,                                                                     \
      (Queue, Buffer, Bool, Flags, std::size_t, std::size_t, std::uint32_t, const Event*, Event*, ReturnCode*))        \
    X(clEnqueueUnmapMemObject, 58, "OpenCL 1.0", ReturnCode,                                                           \
      (Queue, Buffer, void*, std::uint32_t, const Event*, Event*))                                                     \
    X(clEnqueueNDRangeKernel, 59, "OpenCL 1.0", ReturnCode,                                                            \
      (Queue, Kernel, std::uint32_t, const std::size_t*, const std::size_t*, const std::size_t*, std::uint32_t,        \
       const Event*, Event*))                                                                                          \
    X(clEnqueueTask, 60, "OpenCL 1.0", ReturnCode, (Queue, Kernel, std::uint32_t, const Event*, Event*))               \
    X(clCreateSubBuffer, 82, "OpenCL 1.1", Buffer, (Buffer, Flags, std::uint32_t, const void*, ReturnCode*))           \
    X(clCreateUserEvent, 84, "OpenCL 1.1", Event, (Context, ReturnCode*))                                              \
    X(clSetUserEventStatus, 85, "OpenCL 1.1", ReturnCode, (Event, std::int32_t))                                       \
    X(clEnqueueReadBufferRect, 86, "OpenCL 1.1", ReturnCode,                                                           \
      (Queue, Buffer, Bool, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t, std::size_t,      \
       std::size_t, std::size_t, void*, std::uint32_t, const Event*, Event*))                                          \
    X(clEnqueueWriteBufferRect, 87, "OpenCL 1.1", ReturnCode,                                                          \
      (Queue, Buffer, Bool, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t, std::size_t,      \
       std::size_t, std::size_t, const void*, std::uint32_t, const Event*, Event*))                                    \
    X(clEnqueueCopyBufferRect, 88, "OpenCL 1.1", ReturnCode,                                                           \
      (Queue, Buffer, Buffer, const std::size_t*, const std::size_t*, const std::size_t*, std::size_t, std::size_t,    \
       std::size_t, std::size_t, std::uint32_t, const Event*, Event*))                                                 \
    X(clCreateImage, 96, "OpenCL 1.2", Buffer,                                                                         \
      (Context, Flags, const ImageFormat*, const ImageDescriptor*, void*, ReturnCode*))                                \
    X(clEnqueueFillBuffer, 102, "OpenCL 1.2", ReturnCode,                                                              \
      (Queue, Buffer, const void*, std::size_t, std::size_t, std::size_t, std::uint32_t, const Event*, Event*))        \
    X(clEnqueueMarkerWithWaitList, 105, "OpenCL 1.2", ReturnCode, (Queue, std::uint32_t, const Event*, Event*))        \
    X(clEnqueueBarrierWithWaitList, 106, "OpenCL 1.2", ReturnCode, (Queue, std::uint32_t, const Event*, Event*))       \
    X(clCreateCommandQueueWithProperties, 123, "OpenCL 2.0", Queue,                                                    \
      (Context, Device, const std::uint64_t*, ReturnCode*))                                                            \
    X(clSVMAlloc, 126, "OpenCL 2.0", void*, (Context, Flags, std::size_t, std::uint32_t))                              \
    X(clSVMFree, 127, "OpenCL 2.0", void, (Context, void*))                                                            \
    X(clEnqueueSVMFree, 128, "OpenCL 2.0", ReturnCode,                                                                 \
      (Queue, std::uint32_t, void**, SvmFreeNotify, void*, std::uint32_t, const Event*, Event*))                       \
    X(clEnqueueSVMMemcpy, 129, "OpenCL 2.0", ReturnCode,                                                               \
      (Queue, Bool, void*, const void*, std::size_t, std::uint32_t, const Event*, Event*))                             \
    X(clEnqueueSVMMemFill, 130, "OpenCL 2.0", ReturnCode,                                                              \
      (Queue, void*, const void*, std::size_t, std::size_t, std::uint32_t, const Event*, Event*))                      \
    X(clEnqueueSVMMap, 131, "OpenCL 2.0", ReturnCode,                                                                  \
      (Queue, Bool, Flags, void*, std::size_t, std::uint32_t, const Event*, Event*))                                   \
    X(clEnqueueSVMUnmap, 132, "OpenCL 2.0", ReturnCode, (Queue, void*, std::uint32_t, const Event*, Event*))           \
    X(clSetKernelArgSVMPointer, 134, "OpenCL 2.0", ReturnCode, (Kernel, std::uint32_t, const void*))                   \
    X(clGetDeviceAndHostTimer, 140, "OpenCL 2.1", ReturnCode, (Device, std::uint64_t*, std::uint64_t*))                \
    X(clCreateBufferWithProperties, 146, "OpenCL 3.0", Buffer,                                                         \
      (Context, const std::uint64_t*, Flags, std::size_t, void*, ReturnCode*))

// Why nothing of OpenCL may be called: in a child that was forked after drivers were first asked for devices. Their
// threads are the parent's, and what waits for them never ends.
Status usable();

struct Api {
#define ISTHMUS_DECLARE(function, place, since, result, parameters) \
    Function<result parameters> function{#function, since, nullptr};
    ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE

    // The functions that `symbol` finds by their names; all others are absent.
    template <typename Symbol>
    static Api found_by(const Symbol& symbol) {
        Api api;
#define ISTHMUS_LOAD(function, place, since, result, parameters) \
    api.function.pointer = reinterpret_cast<decltype(api.function.pointer)>(symbol(#function));
        ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_LOAD)
#undef ISTHMUS_LOAD
        return api;
    }

    // Calls a function that returns a code, naming it in the failure.
    template <typename... Parameters, typename... Arguments>
    Status call(const Function<ReturnCode(Parameters...)>& function, Arguments... arguments) const {
        ISTHMUS_TRY(usable());
        if (!function) return function.absent();
        return check(function.name, function(arguments...));
    }
    // Calls one that returns an object, and its code by a pointer that comes last.
    template <typename Object, typename... Parameters, typename... Arguments>
    Result<Object> make(const Function<Object(Parameters...)>& function, Arguments... arguments) const {
        ISTHMUS_TRY(usable());
        if (!function) return function.absent();
        ReturnCode code = success;
        Object made = function(arguments..., &code);
        ISTHMUS_TRY(check(function.name, code));
        return made;
    }
    // The first function of OpenCL 1.x that is absent; later ones are asked for where they are used.
    Status complete() const;
    static Status check(const char* function, ReturnCode code);
};

// A library with the platforms it offers; each platform has its own table, since it may come from its own driver.
struct Source {
    std::string library;
    std::vector<std::pair<Platform, Api>> platforms;
};

// Opens libOpenCL.so.1, the loader that finds the installed drivers. Fails with library_absent.
Result<Source> open_loader();

// Opens one driver without a loader, such as PoCL's library inside its Python package, through cl_khr_icd.
Result<Source> open_driver(const std::string& path);

}  // namespace isthmus::opencl
