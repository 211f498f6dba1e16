// Copies between memory of the host and buffers, images and buffers of the device.
#include "tracer/content.hpp"
#include "tracer/opencl/call.hpp"
#include "tracer/opencl/commands.hpp"

namespace isthmus::tracer {
namespace {

using opencl::Bool;
using opencl::Buffer;
using opencl::Event;
using opencl::Queue;
using opencl::ReturnCode;

// With a hash of what is copied, where it was asked for and is in one piece.
Command with_content(Command command, const CommandRecorder& recorder, const void* host) {
    if (recorder.contents() && command.rows == 1) command.content = content_hash(host, command.bytes);
    return command;
}

// An image has no addresses.
constexpr Place in_image{.address = 0, .kind = 3};

std::uint64_t image_bytes(Buffer image, const std::size_t* region) {
    std::size_t element_bytes = 0;
    passed_on(originals().clGetImageInfo, image, opencl::image_element_size, sizeof element_bytes,
              static_cast<void*>(&element_bytes), nullptr);
    return region[0] * region[1] * region[2] * element_bytes;
}

}  // namespace

ISTHMUS_INTERPOSED ReturnCode clEnqueueWriteBuffer(Queue queue, Buffer buffer, Bool blocking, std::size_t offset,
                                                   std::size_t bytes, const void* host, std::uint32_t count,
                                                   const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueWriteBuffer, blocking != 0,
        [&](CommandRecorder& recorder) {
            MemoryMap& memory = recorder.memory();
            return with_content(copy_to_device(memory.at(host), memory.in_buffer(buffer, offset), bytes), recorder,
                                host);
        },
        event, queue, buffer, blocking, offset, bytes, host, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueReadBuffer(Queue queue, Buffer buffer, Bool blocking, std::size_t offset,
                                                  std::size_t bytes, void* host, std::uint32_t count, const Event* list,
                                                  Event* event) {
    return enqueue(
        originals().clEnqueueReadBuffer, blocking != 0,
        [&](CommandRecorder& recorder) {
            MemoryMap& memory = recorder.memory();
            const Command command = copy_to_host(memory.in_buffer(buffer, offset), memory.at(host), bytes);
            return blocking != 0 ? with_content(command, recorder, host) : command;
        },
        event, queue, buffer, blocking, offset, bytes, host, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueCopyBuffer(Queue queue, Buffer source, Buffer destination,
                                                  std::size_t source_offset, std::size_t destination_offset,
                                                  std::size_t bytes, std::uint32_t count, const Event* list,
                                                  Event* event) {
    return enqueue(
        originals().clEnqueueCopyBuffer, false,
        [&](CommandRecorder& recorder) {
            MemoryMap& memory = recorder.memory();
            return copy_on_device(memory.in_buffer(source, source_offset),
                                  memory.in_buffer(destination, destination_offset), bytes);
        },
        event, queue, source, destination, source_offset, destination_offset, bytes, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueWriteBufferRect(Queue queue, Buffer buffer, Bool blocking,
                                                       const std::size_t* buffer_origin, const std::size_t* host_origin,
                                                       const std::size_t* region, std::size_t buffer_row_pitch,
                                                       std::size_t buffer_slice_pitch, std::size_t host_row_pitch,
                                                       std::size_t host_slice_pitch, const void* host,
                                                       std::uint32_t count, const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueWriteBufferRect, blocking != 0,
        [&](CommandRecorder& recorder) {
            MemoryMap& memory = recorder.memory();
            const Section section{region};
            const void* begin =
                static_cast<const std::byte*>(host) + section.offset(host_origin, host_row_pitch, host_slice_pitch);
            const std::uint64_t offset = section.offset(buffer_origin, buffer_row_pitch, buffer_slice_pitch);
            return with_content(
                copy_to_device(memory.at(begin), memory.in_buffer(buffer, offset), section.bytes(), section.rows()),
                recorder, begin);
        },
        event, queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row_pitch, buffer_slice_pitch,
        host_row_pitch, host_slice_pitch, host, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueReadBufferRect(Queue queue, Buffer buffer, Bool blocking,
                                                      const std::size_t* buffer_origin, const std::size_t* host_origin,
                                                      const std::size_t* region, std::size_t buffer_row_pitch,
                                                      std::size_t buffer_slice_pitch, std::size_t host_row_pitch,
                                                      std::size_t host_slice_pitch, void* host, std::uint32_t count,
                                                      const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueReadBufferRect, blocking != 0,
        [&](CommandRecorder& recorder) {
            MemoryMap& memory = recorder.memory();
            const Section section{region};
            const void* begin =
                static_cast<const std::byte*>(host) + section.offset(host_origin, host_row_pitch, host_slice_pitch);
            const std::uint64_t offset = section.offset(buffer_origin, buffer_row_pitch, buffer_slice_pitch);
            const Command command =
                copy_to_host(memory.in_buffer(buffer, offset), memory.at(begin), section.bytes(), section.rows());
            return blocking != 0 ? with_content(command, recorder, begin) : command;
        },
        event, queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row_pitch, buffer_slice_pitch,
        host_row_pitch, host_slice_pitch, host, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueCopyBufferRect(Queue queue, Buffer source, Buffer destination,
                                                      const std::size_t* source_origin,
                                                      const std::size_t* destination_origin, const std::size_t* region,
                                                      std::size_t source_row_pitch, std::size_t source_slice_pitch,
                                                      std::size_t destination_row_pitch,
                                                      std::size_t destination_slice_pitch, std::uint32_t count,
                                                      const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueCopyBufferRect, false,
        [&](CommandRecorder& recorder) {
            MemoryMap& memory = recorder.memory();
            const Section section{region};
            return copy_on_device(
                memory.in_buffer(source, section.offset(source_origin, source_row_pitch, source_slice_pitch)),
                memory.in_buffer(destination,
                                 section.offset(destination_origin, destination_row_pitch, destination_slice_pitch)),
                section.bytes(), section.rows());
        },
        event, queue, source, destination, source_origin, destination_origin, region, source_row_pitch,
        source_slice_pitch, destination_row_pitch, destination_slice_pitch, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueWriteImage(Queue queue, Buffer image, Bool blocking, const std::size_t* origin,
                                                  const std::size_t* region, std::size_t row_pitch,
                                                  std::size_t slice_pitch, const void* host, std::uint32_t count,
                                                  const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueWriteImage, blocking != 0,
        [&](CommandRecorder& recorder) {
            return copy_to_device(recorder.memory().at(host), in_image, image_bytes(image, region),
                                  region[1] * region[2]);
        },
        event, queue, image, blocking, origin, region, row_pitch, slice_pitch, host, count, list);
}

ISTHMUS_INTERPOSED ReturnCode clEnqueueReadImage(Queue queue, Buffer image, Bool blocking, const std::size_t* origin,
                                                 const std::size_t* region, std::size_t row_pitch,
                                                 std::size_t slice_pitch, void* host, std::uint32_t count,
                                                 const Event* list, Event* event) {
    return enqueue(
        originals().clEnqueueReadImage, blocking != 0,
        [&](CommandRecorder& recorder) {
            return copy_to_host(in_image, recorder.memory().at(host), image_bytes(image, region),
                                region[1] * region[2]);
        },
        event, queue, image, blocking, origin, region, row_pitch, slice_pitch, host, count, list);
}

}  // namespace isthmus::tracer
