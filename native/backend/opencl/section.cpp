// Copies of regular sections of OpenCL buffers, and what copies need of memory.
#include "backend/opencl/section.hpp"

#include <string>

#include "backend/opencl/memory.hpp"

namespace isthmus::opencl {
namespace {

// NVIDIA's driver (580.159) calls sections invalid of which the last row, counted to its pitch, ends beyond the
// buffer: such a row, and the slice that it is in, is copied by itself.
Status copy_rect(const Api& cl, Queue queue, Section section) {
    const bool to_device = is_on_device(section.destination.allocation->kind());
    Layout& on_device = to_device ? section.destination : section.source;
    Layout& on_host = to_device ? section.source : section.destination;
    Extent& extent = section.extent;
    if (extent.pieces() == 1) on_device.pitch_bytes = on_host.pitch_bytes = extent.width_bytes;
    const bool is_deep = extent.slices > 1;
    const auto count = is_deep ? &Extent::slices : &Extent::rows;
    const auto pitch = is_deep ? &Layout::slice_pitch_bytes : &Layout::pitch_bytes;
    const std::size_t end = on_device.offset + extent.*count * on_device.*pitch;
    if (extent.pieces() > 1 && end > on_device.allocation->bytes()) {
        Section last = section;
        last.extent.*count = 1;
        --(extent.*count);
        for (Layout* layout : {&last.destination, &last.source}) layout->offset += extent.*count * layout->*pitch;
        ISTHMUS_TRY(copy_rect(cl, queue, section));
        return copy_rect(cl, queue, last);
    }
    // An origin has no pitch of its own: bytes of the first row.
    const std::size_t origin[3] = {on_device.offset, 0, 0};
    const std::size_t host_origin[3] = {0, 0, 0};
    const std::size_t region[3] = {extent.width_bytes, extent.rows, extent.slices};
    const auto slice = [is_deep](const Layout& layout) { return is_deep ? layout.slice_pitch_bytes : 0; };
    const Buffer buffer = static_cast<ClAllocation&>(*on_device.allocation).buffer();
    const auto enqueue = [&](const auto& function, auto* memory) {
        return cl.call(function, queue, buffer, non_blocking, static_cast<const std::size_t*>(origin),
                       static_cast<const std::size_t*>(host_origin), static_cast<const std::size_t*>(region),
                       on_device.pitch_bytes, slice(on_device), on_host.pitch_bytes, slice(on_host), memory, 0U,
                       no_wait, no_event);
    };
    const std::size_t end_on_host =
        (extent.slices - 1) * on_host.slice_pitch_bytes + (extent.rows - 1) * on_host.pitch_bytes + extent.width_bytes;
    const auto& host = static_cast<const ClAllocation&>(*on_host.allocation);
    return host.with_host_address(queue, on_host.offset, end_on_host, [&](void* memory) {
        return to_device ? enqueue(cl.clEnqueueWriteBufferRect, static_cast<const void*>(memory))
                         : enqueue(cl.clEnqueueReadBufferRect, memory);
    });
}

}  // namespace

Status check_addresses(const Allocation& one, const Allocation& other) {
    for (const Allocation* memory : {&one, &other}) {
        if (!is_on_device(memory->kind()) && memory->host() == nullptr) {
            return unsupported(std::string(name_of(memory->kind())) +
                               " memory has no host address to copy from or to; a kernel reaches it");
        }
    }
    return {};
}

Status copy_section(const SharedContext& context, Queue queue, const Layout& destination, const Layout& source,
                    const Extent& extent) {
    ISTHMUS_TRY(check_addresses(*destination.allocation, *source.allocation));
    ISTHMUS_TRY_ASSIGN(section, section_of(destination, source, extent));
    return copy_rect(context.api(), queue, section);
}

}  // namespace isthmus::opencl
