// Kernels, fills, and waiting for them.
#include "tracer/opencl/call.hpp"
#include "tracer/opencl/commands.hpp"

namespace isthmus::tracer {

using opencl::Buffer;
using opencl::Event;
using opencl::Kernel;
using opencl::Queue;
using opencl::ReturnCode;

ISTHMUS_INTERPOSED ReturnCode clEnqueueNDRangeKernel(Queue queue, Kernel function, std::uint32_t dimensions,
                                                     const std::size_t* offset, const std::size_t* global,
                                                     const std::size_t* local, std::uint32_t count, const Event* list,
                                                     Event* event) {
    return enqueue<true>(
        originals().clEnqueueNDRangeKernel, false,
        [&](const CommandRecorder& recorder) { return kernel(function, recorder.file()); }, event, queue, function,
        dimensions, offset, global, local, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueTask(Queue queue, Kernel function, std::uint32_t count, const Event* list,
                                            Event* event) {
    return enqueue<true>(
        originals().clEnqueueTask, false,
        [&](const CommandRecorder& recorder) { return kernel(function, recorder.file()); }, event, queue, function,
        count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueFillBuffer(Queue queue, Buffer buffer, const void* pattern,
                                                  std::size_t pattern_bytes, std::size_t offset, std::size_t bytes,
                                                  std::uint32_t count, const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueFillBuffer, false, [&](const CommandRecorder&) { return fill(bytes); }, event, queue,
        buffer, pattern, pattern_bytes, offset, bytes, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueSVMMemFill(Queue queue, void* memory, const void* pattern,
                                                  std::size_t pattern_bytes, std::size_t bytes, std::uint32_t count,
                                                  const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueSVMMemFill, false, [&](const CommandRecorder&) { return fill(bytes); }, event, queue,
        memory, pattern, pattern_bytes, bytes, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clFinish(Queue queue) {
    const auto& original = originals().clFinish;
    Call call(original.name);
    const ReturnCode code = passed_on(original, queue);
    if (call) {
        call.end();
        if (code == opencl::success) call.collect(queue);
    }
    return code;
}

ISTHMUS_INTERPOSED ReturnCode clWaitForEvents(std::uint32_t count, const Event* events) {
    const auto& original = originals().clWaitForEvents;
    Call call(original.name);
    const ReturnCode code = passed_on(original, count, events);
    if (call) {
        call.end();
        call.collect(nullptr);
    }
    return code;
}

}  // namespace isthmus::tracer
