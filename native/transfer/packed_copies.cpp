// Pieces that the CPU packs side by side into page-locked memory, or unpacks from there.
#include "transfer/packed_copies.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "transfer/pack.hpp"

namespace isthmus {
PackedCopy::PackedCopy(const Layout& destination, const Layout& source, const Extent& extent,
                       std::shared_ptr<Staging> staging)
    : PieceCopy(destination, source, extent, std::move(staging)),
      unit_bytes_(common_unit_bytes(device_side(), contiguous(staging_->on_device(), 0, extent), extent)) {}

Status PackedCopy::check(const Layout& host_side, const Extent& extent) {
    const Allocation& memory = *host_side.allocation;
    if (memory.host() == nullptr) {
        return {Code::unsupported,
                std::string(name_of(memory.kind())) + " memory has no host address while the device may use it"};
    }
    if (host_side.is_contiguous(extent) && !is_pageable(memory.kind())) {
        return {Code::unsupported, "the pieces lie side by side in memory that needs no staging"};
    }
    return {};
}

// Of the device's side; the host's are the CPU's own.
Status PackedCopy::send_offsets(Stream& stream) {
    ISTHMUS_TRY_ASSIGN(table, to_device() ? staging_->send_offsets(stream, destination_, {})
                                          : staging_->send_offsets(stream, {}, source_));
    table_ = table;
    return {};
}

Status PackedCopy::begin(Stream& stream, const Part& part) {
    const Region host{&staging_->host(), part.slot_offset, part.bytes()};
    const Layout& device = device_side();
    const bool direct = device.is_contiguous(extent_);
    const Region on_device = direct ? Region{device.allocation, device.offset + part.begin, part.bytes()}
                                    : Region{&staging_->on_device(), part.slot_offset, part.bytes()};
    if (to_device()) {
        pack(host.host(), source_, extent_, part.begin, part.end);
        ISTHMUS_TRY(this->device().copy(stream, on_device, host));
        return direct ? Status() : move_on_device(stream, part, false);
    }
    if (!direct) ISTHMUS_TRY(move_on_device(stream, part, true));
    return this->device().copy(stream, host, on_device);
}

// Packs a part into the staging memory on the device, or unpacks it from there.
Status PackedCopy::move_on_device(Stream& stream, const Part& part, bool packs) {
    // Counted as if all pieces lay side by side before the slot and in it: modulo 2^64.
    Layout packed = contiguous(staging_->on_device(), part.slot_offset - part.begin, extent_);
    const Units units{unit_bytes_, part.begin / unit_bytes_, part.bytes() / unit_bytes_};
    return packs ? device().copy_pieces(stream, packed, source_, extent_, units, table_)
                 : device().copy_pieces(stream, destination_, packed, extent_, units, table_);
}

void PackedCopy::finish(const Part& part) {
    if (!to_device()) {
        unpack(destination_, staging_->host().host() + part.slot_offset, extent_, part.begin, part.end);
    }
}

Status PackOnce::start() {
    Stream& stream = staging_->stream();
    const Part all{0, extent_.bytes(), 0};
    ISTHMUS_TRY(send_offsets(stream));
    ISTHMUS_TRY(begin(stream, all));
    ISTHMUS_TRY(stream.synchronize());
    finish(all);
    return {};
}

Status PackOnThreads::start() {
    Stream& stream = staging_->stream();
    ISTHMUS_TRY(send_offsets(stream));
    // Other streams do not wait for this one.
    if (table_.allocation != nullptr) ISTHMUS_TRY(stream.synchronize());
    next_chunk_ = 0;
    return staging_->run([this, keep = shared_from_this()](
                             std::size_t worker, const std::atomic<bool>& stop) { return work(worker, stop); },
                         limit_);
}

Status PackOnThreads::work(std::size_t worker, const std::atomic<bool>& stop) {
    ISTHMUS_TRY(device().bind_thread());
    std::array<std::optional<Part>, Staging::slots> under_way;
    const auto wait_for = [&](std::size_t slot) -> Status {
        if (!under_way[slot]) return {};
        ISTHMUS_TRY(staging_->stream(worker, slot).synchronize());
        finish(*under_way[slot]);
        under_way[slot].reset();
        return {};
    };
    Status status;
    for (std::size_t slot = 0; status.ok() && !stop; slot = (slot + 1) % Staging::slots) {
        status = wait_for(slot);
        const std::size_t chunk = next_chunk_++;
        if (!status.ok() || chunk >= chunk_ends_.size()) break;
        under_way[slot] = Part{chunk == 0 ? 0 : chunk_ends_[chunk - 1], chunk_ends_[chunk],
                               (worker * Staging::slots + slot) * most_chunk_bytes};
        status = begin(staging_->stream(worker, slot), *under_way[slot]);
    }
    for (std::size_t slot = 0; slot < Staging::slots; ++slot) {
        Status ended = wait_for(slot);
        if (status.ok()) status = std::move(ended);
    }
    return status;
}

}  // namespace isthmus
