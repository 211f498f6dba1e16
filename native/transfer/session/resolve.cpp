// Two arrays as a job, and many pieces at once: those of one size together, wherever they are.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/reach.hpp"
#include "transfer/copy/batch_checks.hpp"
#include "transfer/session/resolver.hpp"

namespace isthmus {
namespace {

// Pieces of different sizes are cut into shorter ones of one size, unless these are too short or too many.
constexpr std::size_t least_common_bytes = 256;
constexpr std::size_t most_cuts = 4;

// Where the pieces of one side lie, from the lowest on.
struct BatchPlacement {
    std::uintptr_t address = 0;  // that is borrowed
    std::size_t lowest = 0;      // from there
    std::size_t span_bytes = 0;
    std::size_t pitch_bytes = 0;             // 0 where distances differ
    std::span<const std::uint64_t> offsets;  // from `lowest` then: the batch's own, or those that were written
};

// Whether the driver takes all of it as one: its 2-D copies refuse device memory of several allocations, also of two
// that follow one another, however regularly pieces lie there. Two pieces always do.
bool is_one_allocation(Device& device, std::uintptr_t begin, std::size_t bytes) {
    auto known = device.identify(begin);
    if (!known.ok()) return false;
    const KnownMemory& memory = known.value();
    return memory.begin <= begin && begin < memory.end && bytes <= memory.end - begin;
}

// For at least one piece, all of one width; writes offsets where distances differ and the batch has none.
BatchPlacement placement_of(Device& device, MemoryKind kind, const BatchSide& side, std::size_t width,
                            std::vector<std::uint64_t>& offsets) {
    const bool addresses = has_addresses(device) || kind != MemoryKind::device;
    const std::size_t pieces = side.addresses.size();
    const auto place = [&](std::size_t i) { return side.offset_bytes(i) + (addresses ? side.address(i) : 0); };
    const std::size_t first = place(0);
    const std::size_t pitch = pieces > 1 ? place(1) - first : width;
    std::size_t regular = 1;
    // So that nothing overflows, whatever places a caller names.
    if (pitch >= width && pitch <= SIZE_MAX / 2 / pieces) {
        while (regular < pieces && place(regular) == first + regular * pitch) ++regular;
    }
    const std::size_t span = (pieces - 1) * pitch + width;
    const bool may_be_several = addresses && kind == MemoryKind::device && pieces > 1;
    if (regular == pieces && (!may_be_several || is_one_allocation(device, first, span))) {
        offsets.clear();
        return {addresses ? first : side.address(0), addresses ? 0 : first, span, pitch, {}};
    }
    if (addresses && !side.from_lowest.empty()) {
        offsets.clear();
        return {side.reach.lowest, 0, side.reach.highest - side.reach.lowest + width, 0, side.from_lowest};
    }
    offsets.resize(pieces);
    Reach reach;
    if (addresses && side.offsets_bytes.empty()) {
        reach = reach_of(side.addresses);
        for (std::size_t i = 0; i < pieces; ++i) offsets[i] = side.address(i) - reach.lowest;
    } else {
        for (std::size_t i = 0; i < pieces; ++i) offsets[i] = place(i);
        reach = reach_of(offsets);
        for (std::uint64_t& offset : offsets) offset -= reach.lowest;
    }
    return {addresses ? reach.lowest : side.address(0), addresses ? 0 : reach.lowest,
            reach.highest - reach.lowest + width, 0, offsets};
}

bool one_handle(const BatchSide& side) {
    return std::all_of(side.addresses.begin(), side.addresses.end(),
                       [&](const void* handle) { return handle == side.addresses.front(); });
}

// Pieces of one size, at least one. `apart`: it is known that they do not overlap where they are written to.
Result<std::shared_ptr<CopyJob>> job_of(Device& device, const Ends& ends, const Batch& batch,
                                        const std::shared_ptr<SpareOffsets>& spare, bool apart) {
    const bool addresses = has_addresses(device);
    auto job = std::make_shared<CopyJob>();
    job->ends = ends;
    job->extent = {batch.bytes.front(), batch.pieces(), 1};
    job->spare = spare;
    job->destination_offsets = spare->take();
    job->source_offsets = spare->take();
    const std::size_t width = job->extent.width_bytes;
    const BatchPlacement to =
        placement_of(device, ends.destination, batch.destinations, width, job->destination_offsets);
    const BatchPlacement from = placement_of(device, ends.source, batch.sources, width, job->source_offsets);
    ISTHMUS_TRY_ASSIGN(destination, device.borrow(ends.destination, to.address, to.lowest + to.span_bytes));
    ISTHMUS_TRY_ASSIGN(source, device.borrow(ends.source, from.address, from.lowest + from.span_bytes));
    job->destination_memory = std::move(destination);
    job->source_memory = std::move(source);
    job->is_disjoint = apart || to.offsets.empty();
    const std::size_t rows = job->extent.rows;
    job->destination = {job->destination_memory.get(), to.lowest, to.pitch_bytes, rows * to.pitch_bytes, to.offsets};
    job->source = {job->source_memory.get(), from.lowest, from.pitch_bytes, rows * from.pitch_bytes, from.offsets};
    // Memory of the device itself is no memory of the host.
    const bool crosses = (ends.destination == MemoryKind::device) != (ends.source == MemoryKind::device);
    const bool may_overlap =
        !crosses && (addresses || ends.route == Route::h2h || (ends.route == Route::d2d && to.address == from.address));
    const std::uintptr_t no_address = 0;
    const bool by_address = addresses || ends.route == Route::h2h;
    if (may_overlap && overlap(*job, by_address ? to.address : no_address + to.lowest,
                               by_address ? from.address : no_address + from.lowest)) {
        return invalid("sources and destinations of the batch overlap; copy to other memory first");
    }
    return job;
}

// As pieces of one size, if they can be cut so.
BatchLists cut(const Batch& batch) {
    std::size_t common = 0;
    std::size_t total = 0;
    for (const std::size_t bytes : batch.bytes) {
        common = std::gcd(common, bytes);
        total += bytes;
    }
    BatchLists all;
    if (common < least_common_bytes || total / common > most_cuts * batch.pieces()) return all;
    all.reserve(total / common);
    for (std::size_t i = 0; i < batch.pieces(); ++i) {
        BatchPiece part = batch.piece(i);
        part.bytes = common;
        for (std::size_t at = 0; at < batch.bytes[i]; at += common) {
            all.add(part);
            part.destination_offset_bytes += common;
            part.source_offset_bytes += common;
        }
    }
    return all;
}

}  // namespace

Resolver::Resolver(Device& device, const KernelBlocks& blocks, Chooser& chooser, StreamPool& streams,
                   const std::array<StagingLane, 2>& lanes, const std::array<std::shared_ptr<RingPool>, 2>& rings)
    : device_(device),
      blocks_(blocks),
      chooser_(chooser),
      streams_(streams),
      lanes_(lanes),
      rings_(rings),
      has_addresses_(has_addresses(device)) {}

Result<std::shared_ptr<Device>> Resolver::other_device(int index) {
    const std::lock_guard lock(others_mutex_);
    for (const std::shared_ptr<Device>& other : others_) {
        if (other->info().index == index) return other;
    }
    ISTHMUS_TRY_ASSIGN(opened, device_.open_other(index));
    return others_.emplace_back(std::move(opened));
}

Result<std::shared_ptr<CopyJob>> Resolver::resolve(const ArrayView& destination, const ArrayView& source) {
    ISTHMUS_TRY_ASSIGN(job, job_of(
                                device_, [this](int index) { return other_device(index); }, destination, source));
    // Without a ring there is nowhere to write a repeated source out.
    if (job != nullptr && job->to_device() && !lanes_[0].has_room()) ISTHMUS_TRY(job->scatter());
    return std::move(job);
}

Result<std::vector<std::shared_ptr<CopyJob>>> Resolver::resolve(const Batch& given, Sides sides) {
    std::vector<std::shared_ptr<CopyJob>> jobs;
    if (given.pieces() == 0) return jobs;
    BatchLists kept;
    Batch batch = given;
    bool alike = !batch.sources.from_lowest.empty() || is_one_size(batch.bytes);
    if (alike && batch.bytes.front() == 0) return jobs;
    if (!alike && std::ranges::find(batch.bytes, 0U) != batch.bytes.end()) {
        for (std::size_t i = 0; i < given.pieces(); ++i) {
            if (given.bytes[i] != 0) kept.add(given.piece(i));
        }
        batch = kept.batch();
        alike = is_one_size(batch.bytes);
    }
    const BatchPiece first = batch.piece(0);
    ISTHMUS_TRY_ASSIGN(ends, ends_of(device_, {first.destination, sides.destination, first.bytes},
                                     {first.source, sides.source, first.bytes}, true));
    if (ends.is_between_devices()) {
        return invalid("the batch is between two devices; copy such arrays one by one");
    }
    bool one_by_one = false;
    if (has_addresses_) {
        const bool believed = device_.refuses_overruns();
        if (!believed || ends.destination != MemoryKind::device || sides.destination != Side::device) {
            ISTHMUS_TRY(check_side(device_, batch.destinations, batch.bytes, "destination", sides.destination,
                                   ends.destination, ends.partly_locked));
        }
        if (!believed || ends.source != MemoryKind::device || sides.source != Side::device) {
            ISTHMUS_TRY(check_side(device_, batch.sources, batch.bytes, "source", sides.source, ends.source,
                                   ends.partly_locked));
        }
    } else {
        one_by_one = (ends.destination == MemoryKind::device && !one_handle(batch.destinations)) ||
                     (ends.source == MemoryKind::device && !one_handle(batch.sources));
    }
    // Pieces of one size are looked at together, when it is known how they go.
    const bool apart = one_by_one || !alike;
    if (apart) {
        ISTHMUS_TRY(check_apart(batch, has_addresses_ || ends.destination != MemoryKind::device,
                                has_addresses_ || ends.source != MemoryKind::device));
    }
    const auto add = [&](const Batch& some) -> Status {
        ISTHMUS_TRY_ASSIGN(job, job_of(device_, ends, some, spare_offsets_, apart || some.is_disjoint));
        jobs.push_back(std::move(job));
        return {};
    };
    if (one_by_one) {
        for (std::size_t i = 0; i < batch.pieces(); ++i) ISTHMUS_TRY(add(batch.part(i, 1)));
        return jobs;
    }
    if (alike) {
        ISTHMUS_TRY(add(batch));
        return jobs;
    }
    if (const BatchLists parts = cut(batch); !parts.empty()) {
        ISTHMUS_TRY(add(parts.batch()));
        return jobs;
    }
    std::map<std::size_t, BatchLists> groups;
    for (std::size_t i = 0; i < batch.pieces(); ++i) groups[batch.bytes[i]].add(batch.piece(i));
    for (const auto& [bytes, group] : groups) ISTHMUS_TRY(add(group.batch()));
    return jobs;
}

}  // namespace isthmus
