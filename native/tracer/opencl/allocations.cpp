// Memory that the program gets and gives back.
#include "tracer/opencl/call.hpp"

namespace isthmus::tracer {
namespace {

using opencl::Buffer;
using opencl::Context;
using opencl::Event;
using opencl::Flags;
using opencl::Queue;
using opencl::ReturnCode;

// Makes a buffer or an image by `make`; of an image OpenCL alone knows the bytes.
template <typename Make>
Buffer made_buffer(const char* name, Flags flags, const Make& make) {
    Call call(name);
    const Buffer buffer = make();
    if (!call) return buffer;
    call.end();
    if (buffer == nullptr) return buffer;
    interpose::guarded([&] {
        std::size_t bytes = 0;
        passed_on(originals().clGetMemObjectInfo, buffer, opencl::mem_size, sizeof bytes, static_cast<void*>(&bytes),
                  nullptr);
        call.add(call.recorder().memory().add_buffer(buffer, flags, bytes), false);
    });
    return buffer;
}

}  // namespace

ISTHMUS_INTERPOSED Buffer clCreateBuffer(Context context, Flags flags, std::size_t bytes, void* host,
                                         ReturnCode* code) {
    const auto& original = originals().clCreateBuffer;
    return made_buffer(original.name, flags,
                       [&] { return passed_on_to_make(original, code, context, flags, bytes, host); });
}

ISTHMUS_INTERPOSED Buffer clCreateBufferWithProperties(Context context, const std::uint64_t* properties, Flags flags,
                                                       std::size_t bytes, void* host, ReturnCode* code) {
    const auto& original = originals().clCreateBufferWithProperties;
    return made_buffer(original.name, flags,
                       [&] { return passed_on_to_make(original, code, context, properties, flags, bytes, host); });
}

ISTHMUS_INTERPOSED Buffer clCreateImage(Context context, Flags flags, const opencl::ImageFormat* format,
                                        const opencl::ImageDescriptor* descriptor, void* host, ReturnCode* code) {
    const auto& original = originals().clCreateImage;
    return made_buffer(original.name, flags,
                       [&] { return passed_on_to_make(original, code, context, flags, format, descriptor, host); });
}

// Part of a buffer: it gets no memory.
ISTHMUS_INTERPOSED Buffer clCreateSubBuffer(Buffer whole, Flags flags, std::uint32_t type, const void* description,
                                            ReturnCode* code) {
    const Buffer part = passed_on_to_make(originals().clCreateSubBuffer, code, whole, flags, type, description);
    CommandRecorder* recorder = CommandRecorder::current();
    if (recorder != nullptr && part != nullptr && type == opencl::buffer_create_type_region) {
        const auto& region = *static_cast<const opencl::BufferRegion*>(description);
        interpose::guarded([&] { recorder->memory().add_part(part, whole, region.origin, region.bytes); });
    }
    return part;
}

ISTHMUS_INTERPOSED ReturnCode clReleaseMemObject(Buffer buffer) {
    const auto& original = originals().clReleaseMemObject;
    Call call(original.name);
    std::uint32_t references = 0;
    if (call) {
        passed_on(originals().clGetMemObjectInfo, buffer, opencl::mem_reference_count, sizeof references,
                  static_cast<void*>(&references), nullptr);
    }
    // Before it is: another thread may be given its name at once.
    std::optional<Range> released;
    if (call && references == 1) interpose::guarded([&] { released = call.recorder().memory().remove_buffer(buffer); });
    const ReturnCode code = passed_on(original, buffer);
    if (call) call.end();
    if (released) interpose::guarded([&] { call.add(*released, true); });
    return code;
}

ISTHMUS_INTERPOSED void* clSVMAlloc(Context context, Flags flags, std::size_t bytes, std::uint32_t alignment) {
    const auto& original = originals().clSVMAlloc;
    Call call(original.name);
    void* const memory = original ? original(context, flags, bytes, alignment) : nullptr;
    if (call) {
        call.end();
        if (memory != nullptr) {
            interpose::guarded([&] { call.add(call.recorder().memory().add_shared(memory, bytes), false); });
        }
    }
    return memory;
}

ISTHMUS_INTERPOSED void clSVMFree(Context context, void* memory) {
    const auto& original = originals().clSVMFree;
    Call call(original.name);
    std::optional<Range> released;
    if (call) interpose::guarded([&] { released = call.recorder().memory().remove_shared(memory); });
    if (original) original(context, memory);
    if (call) call.end();
    if (released) interpose::guarded([&] { call.add(*released, true); });
}

// Given back when the commands before are complete; recorded as given back by the call.
ISTHMUS_INTERPOSED ReturnCode clEnqueueSVMFree(Queue queue, std::uint32_t number, void** memories,
                                               opencl::SvmFreeNotify free_them, void* data, std::uint32_t count,
                                               const Event* list, Event* event) {
    const auto& original = originals().clEnqueueSVMFree;
    Call call(original.name);
    const ReturnCode code = passed_on(original, queue, number, memories, free_them, data, count, list, event);
    if (!call) return code;
    call.end();
    if (code != opencl::success) return code;
    interpose::guarded([&] {
        for (std::uint32_t index = 0; index < number; ++index) {
            if (const auto released = call.recorder().memory().remove_shared(memories[index])) {
                call.add(*released, true);
            }
        }
    });
    return code;
}

}  // namespace isthmus::tracer
