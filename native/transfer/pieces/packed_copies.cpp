// Pieces that the CPU packs side by side into page-locked memory, or unpacks from there.
#include "transfer/pieces/packed_copies.hpp"

#include <algorithm>
#include <string>

#include "backend/device.hpp"

namespace isthmus {
namespace {

constexpr std::size_t least_streamed_bytes = std::size_t{1} << 20;

// What is enqueued on the second stream from now on begins after what the first one holds.
Status pass_on(Device& device, Stream& first, Stream& second, Event* halfway) {
    if (halfway == nullptr) return {};
    ISTHMUS_TRY(device.record(*halfway, first));
    return device.wait(second, *halfway);
}

// The memory where it is pageable and written to from its beginning to its end; null elsewhere.
std::byte* filled_in_order(const Layout& destination, const Extent& extent) {
    const bool is_filled = is_pageable(destination.allocation->kind()) && destination.is_contiguous(extent);
    return is_filled ? destination.allocation->host() + destination.offset : nullptr;
}

}  // namespace

bool fills_untouched(const Layout& destination, const Extent& extent) {
    std::byte* const data = filled_in_order(destination, extent);
    return data != nullptr && FaultAhead::is_worthwhile(data, extent.bytes());
}

Stores suitable_stores(bool to_device, bool by_kernel, std::size_t bytes) {
    const bool may_stay = to_device ? by_kernel : bytes < least_streamed_bytes;
    return may_stay ? Stores::ordinary : Stores::streaming;
}

PackedPieces::PackedPieces(const Layout& destination, const Layout& source, const Extent& extent, const FileBytes* file,
                           bool checks_memory)
    : destination_(destination),
      source_(source),
      extent_(extent),
      file_(file),
      checks_memory_(checks_memory),
      unit_bytes_(common_unit_bytes(device_side(),
                                    {nullptr, 0, extent.width_bytes, extent.rows * extent.width_bytes, {}}, extent)) {}

Status PackedPieces::move_on_host(const Part& part, Allocation& packed, Stores stores) const {
    std::byte* const staged = packed.host() + part.staged_at;
    if (file_ != nullptr) return file_->read(staged, part.begin, part.bytes(), stores);
    const Access access = to_device() ? Access::read : Access::write;
    if (checks_memory_ && !make_accessible(access, host_side(), extent_, part.begin, part.end)) {
        return no_access(access);
    }
    if (to_device()) {
        pack(staged, source_, extent_, part.begin, part.end, stores);
    } else {
        unpack(destination_, staged, extent_, part.begin, part.end, stores);
    }
    return {};
}

void PackedPieces::fault_ahead(FaultAhead& faults) const {
    if (std::byte* const data = filled_in_order(destination_, extent_))
        faults.begin(data, extent_.bytes(), checks_memory_);
}

Stream& PackedPieces::last(const Route& route) const {
    return to_device() && needs_kernel() ? route.kernels : route.copies;
}

std::size_t PackedPieces::end_of_range(std::size_t begin) const {
    const std::size_t width = extent_.width_bytes;
    return device_side().is_contiguous(extent_) ? extent_.bytes() : (begin / width + 1) * width;
}

Region PackedPieces::on_device(const Part& part) const {
    const Layout& side = device_side();
    const std::size_t width = extent_.width_bytes;
    const std::size_t at = side.is_contiguous(extent_) ? side.offset + part.begin
                                                       : side.at(part.begin / width, extent_) + part.begin % width;
    return {side.allocation, at, part.bytes()};
}

Status PackedPieces::copy_ranges(Device& device, Stream& stream, const Part& part, Allocation& packed) const {
    Part range = part;
    for (; range.begin < part.end; range.begin = range.end) {
        range.end = std::min(part.end, end_of_range(range.begin));
        range.staged_at = part.staged_at + (range.begin - part.begin);
        const Region host{&packed, range.staged_at, range.bytes()};
        const Region there = on_device(range);
        ISTHMUS_TRY(to_device() ? device.copy(stream, there, host) : device.copy(stream, host, there));
    }
    return {};
}

Status PackedPieces::enqueue_copy(Device& device, const Route& route, const Part& part, const PackedInto& into) const {
    if (!needs_kernel()) return copy_ranges(device, route.copies, part, *into.host);
    const Region host{into.host, part.staged_at, part.bytes()};
    const Region on_device{into.on_device, part.staged_at, part.bytes()};
    if (to_device()) {
        ISTHMUS_TRY(device.copy(route.copies, on_device, host));
        ISTHMUS_TRY(pass_on(device, route.copies, route.kernels, route.halfway));
        return move_pieces(device, route.kernels, part, into, *into.on_device);
    }
    ISTHMUS_TRY(move_pieces(device, route.kernels, part, into, *into.on_device));
    ISTHMUS_TRY(pass_on(device, route.kernels, route.copies, route.halfway));
    return device.copy(route.copies, host, on_device);
}

Status PackedPieces::enqueue_kernel(Device& device, Stream& stream, const Part& part, const PackedInto& into) const {
    return move_pieces(device, stream, part, into, *into.host);
}

Status PackedPieces::move_pieces(Device& device, Stream& stream, const Part& part, const PackedInto& into,
                                 Allocation& packed) const {
    // Counted as if all pieces lay side by side from before where this part is staged: modulo 2^64.
    const Layout staged = contiguous(packed, part.staged_at - part.begin, extent_);
    const Units units{unit_bytes_, part.begin / unit_bytes_, part.bytes() / unit_bytes_};
    return to_device() ? device.copy_pieces(stream, destination_, staged, extent_, units, into.table, into.blocks)
                       : device.copy_pieces(stream, staged, source_, extent_, units, into.table, into.blocks);
}

Status PackedCopy::check(const Layout& host_side, const Extent& extent) {
    const Allocation& memory = *host_side.allocation;
    if (memory.host() == nullptr) {
        return unsupported(std::string(name_of(memory.kind())) +
                           " memory has no host address while the device may use it");
    }
    if (host_side.is_contiguous(extent) && !is_pageable(memory.kind())) {
        return unsupported("the pieces lie side by side in memory that needs no staging");
    }
    return {};
}

// Only those of the device's side: the CPU has the host's.
Status PackedCopy::send_offsets(Stream& stream, bool by_kernel) {
    if (!by_kernel && !pieces_.needs_kernel()) return {};
    return assign(table_, to_device() ? staging_->send_offsets(stream, destination_, {})
                                      : staging_->send_offsets(stream, {}, source_));
}

Status PackOnce::start() {
    Stream& stream = staging_->stream();
    const Part all{0, extent_.bytes(), 0};
    ISTHMUS_TRY(send_offsets(stream, false));
    if (to_device()) ISTHMUS_TRY(move_on_host(all, Stores::ordinary));
    ISTHMUS_TRY(enqueue_copy({stream, stream}, all));
    ISTHMUS_TRY(stream.synchronize());
    return to_device() ? Status() : move_on_host(all, Stores::ordinary);
}

}  // namespace isthmus
