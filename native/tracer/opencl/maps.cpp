// Memory of the device that the host maps, shared memory that both have, and copies of it.
#include "tracer/opencl/call.hpp"
#include "tracer/opencl/commands.hpp"

namespace isthmus::tracer {
namespace {

using opencl::Bool;
using opencl::Buffer;
using opencl::Event;
using opencl::Flags;
using opencl::Queue;
using opencl::ReturnCode;

Command mapped(const Mapping& mapping, bool unified) {
    return mapping.reads && !unified ? copy_to_host(mapping.device, mapping.host, mapping.bytes) : nothing();
}

Command unmapped(const std::optional<Mapping>& mapping, bool unified) {
    const bool moves = mapping && mapping->writes && !unified;
    return moves ? copy_to_device(mapping->host, mapping->device, mapping->bytes) : nothing();
}

}  // namespace

ISTHMUS_INTERPOSED void* clEnqueueMapBuffer(Queue queue, Buffer buffer, Bool blocking, Flags flags, std::size_t offset,
                                            std::size_t bytes, std::uint32_t count, const Event* list, Event* event,
                                            ReturnCode* code) {
    const auto& original = originals().clEnqueueMapBuffer;
    void* memory = nullptr;
    enqueue_by(
        original.name, queue, blocking != 0, event,
        [&](Event* made) {
            ReturnCode found = opencl::success;
            memory =
                passed_on_to_make(original, &found, queue, buffer, blocking, flags, offset, bytes, count, list, made);
            if (code != nullptr) *code = found;
            return found;
        },
        [&](CommandRecorder& recorder) {
            const Mapping mapping = recorder.memory().add_mapping(buffer, memory, flags, offset, bytes);
            return mapped(mapping, recorder.queue(queue)->device().unified);
        });
    return memory;
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueUnmapMemObject(Queue queue, Buffer buffer, void* memory, std::uint32_t count,
                                                      const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueUnmapMemObject, false,
        [&](CommandRecorder& recorder) {
            return unmapped(recorder.memory().remove_mapping(buffer, memory), recorder.queue(queue)->device().unified);
        },
        event, queue, buffer, memory, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueSVMMap(Queue queue, Bool blocking, Flags flags, void* memory, std::size_t bytes,
                                              std::uint32_t count, const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueSVMMap, blocking != 0,
        [&](CommandRecorder& recorder) {
            return mapped(recorder.memory().add_shared_mapping(memory, flags, bytes),
                          recorder.queue(queue)->device().unified);
        },
        event, queue, blocking, flags, memory, bytes, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueSVMUnmap(Queue queue, void* memory, std::uint32_t count, const Event* list,
                                                Event* event) {
    return enqueue(
        originals().clEnqueueSVMUnmap, false,
        [&](CommandRecorder& recorder) {
            return unmapped(recorder.memory().remove_mapping(nullptr, memory), recorder.queue(queue)->device().unified);
        },
        event, queue, memory, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueSVMMemcpy(Queue queue, Bool blocking, void* destination, const void* source,
                                                 std::size_t bytes, std::uint32_t count, const Event* list,
                                                 Event* event) {
    return enqueue(
        originals().clEnqueueSVMMemcpy, blocking != 0,
        [&](CommandRecorder& recorder) {
            return copy_between(recorder.memory().at(source), recorder.memory().at(destination), bytes);
        },
        event, queue, blocking, destination, source, bytes, count, list);
}

}  // namespace isthmus::tracer
