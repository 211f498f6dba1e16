// The functions of OpenCL that are hooked: their names, our functions in their place, and the program's own.
#pragma once

#include "driver/opencl_api.hpp"

namespace isthmus::accelerator {

// Here, so that the names below stand for OpenCL's alone.
namespace cl {

using opencl::Bool;
using opencl::Buffer;
using opencl::Context;
using opencl::ContextNotify;
using opencl::Device;
using opencl::Event;
using opencl::Flags;
using opencl::Properties;
using opencl::Queue;
using opencl::ReturnCode;
using opencl::SvmFreeNotify;

}  // namespace cl
}  // namespace isthmus::accelerator

// X(function, result, parameters)
#define ISTHMUS_OPENCL_HOOKED(X)                                                                                   \
    X(clCreateContext, Context,                                                                                    \
      (const Properties* properties, std::uint32_t count, const Device* devices, ContextNotify notify, void* data, \
       ReturnCode* code))                                                                                          \
    X(clCreateContextFromType, Context,                                                                            \
      (const Properties* properties, Flags type, ContextNotify notify, void* data, ReturnCode* code))              \
    X(clRetainContext, ReturnCode, (Context context))                                                              \
    X(clReleaseContext, ReturnCode, (Context context))                                                             \
    X(clEnqueueReadBuffer, ReturnCode,                                                                             \
      (Queue queue, Buffer buffer, Bool blocking, std::size_t offset, std::size_t bytes, void* host,               \
       std::uint32_t count, const Event* list, Event* event))                                                      \
    X(clEnqueueWriteBuffer, ReturnCode,                                                                            \
      (Queue queue, Buffer buffer, Bool blocking, std::size_t offset, std::size_t bytes, const void* host,         \
       std::uint32_t count, const Event* list, Event* event))                                                      \
    X(clEnqueueMapBuffer, void*,                                                                                   \
      (Queue queue, Buffer buffer, Bool blocking, Flags flags, std::size_t offset, std::size_t bytes,              \
       std::uint32_t count, const Event* list, Event* event, ReturnCode* code))                                    \
    X(clEnqueueUnmapMemObject, ReturnCode,                                                                         \
      (Queue queue, Buffer buffer, void* mapped, std::uint32_t count, const Event* list, Event* event))            \
    X(clSVMAlloc, void*, (Context context, Flags flags, std::size_t bytes, std::uint32_t alignment))               \
    X(clSVMFree, void, (Context context, void* memory))                                                            \
    X(clEnqueueSVMFree, ReturnCode,                                                                                \
      (Queue queue, std::uint32_t blocks, void** memory, SvmFreeNotify notify, void* data, std::uint32_t count,    \
       const Event* list, Event* event))

// NOLINTBEGIN(readability-identifier-naming): OpenCL's names.
namespace isthmus::accelerator {

enum class ClFunction : std::size_t {
#define ISTHMUS_NAME(function, result, parameters) function,
    ISTHMUS_OPENCL_HOOKED(ISTHMUS_NAME)
#undef ISTHMUS_NAME
        count
};

// What `symbol` of an OpenCL library is to be for a program that found `found`: ours, or that.
void* instead_of_opencl(const char* symbol, void* found) noexcept;

// The program's own function, by the way it first asked for it; null where there is no OpenCL.
void* original(ClFunction function) noexcept;

template <typename Pointer>
Pointer original(ClFunction function) noexcept {
    return reinterpret_cast<Pointer>(original(function));
}

// All of the program's OpenCL that the library itself calls; absent is what that lacks.
const opencl::Api& programs_opencl();

}  // namespace isthmus::accelerator

extern "C" {
using namespace isthmus::accelerator::cl;
#define ISTHMUS_DECLARE(function, result, parameters) __attribute__((visibility("default"))) result function parameters;
ISTHMUS_OPENCL_HOOKED(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE
}
// NOLINTEND(readability-identifier-naming)
