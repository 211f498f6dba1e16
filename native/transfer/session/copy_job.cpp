// One copy as a session works on it: where its pieces lie, and how they are moved.
#include "transfer/session/copy_job.hpp"

#include <algorithm>
#include <utility>

#include "backend/device.hpp"
#include "transfer/copy/batch_checks.hpp"

namespace isthmus {
namespace {

// That the driver copies one by one where kernels do not reach both devices.
constexpr std::size_t most_pieces_between = std::size_t{1} << 16;

// One side's memory, borrowed from its lowest byte on, or from the beginning of the handle where it has no addresses.
struct Borrowed {
    std::unique_ptr<Allocation> memory;
    std::size_t offset = 0;
};

Result<Borrowed> borrow(Device& device, MemoryKind kind, const ArrayView& array,
                        const ArrayPieces::Placement& placement, std::uintptr_t for_kernels) {
    const auto first = static_cast<std::size_t>(placement.first_bytes);  // modulo 2^64
    if (array.offset_bytes == 0 && (kind != MemoryKind::device || has_addresses(device))) {
        ISTHMUS_TRY_ASSIGN(memory, device.borrow(kind, array.address + first, placement.span_bytes, for_kernels));
        return Borrowed{std::move(memory), placement.offset};
    }
    const std::size_t lowest = array.offset_bytes + first;
    if (placement.first_bytes < 0 && lowest > array.offset_bytes) return invalid("the array begins before its buffer");
    ISTHMUS_TRY_ASSIGN(memory, device.borrow(kind, array.address, lowest + placement.span_bytes));
    return Borrowed{std::move(memory), lowest + placement.offset};
}

End end_of(const ArrayView& array, const ArrayPieces::Placement& placement) {
    return {array.address + array.offset_bytes + static_cast<std::size_t>(placement.first_bytes), array.side,
            placement.span_bytes};
}

Layout layout_of(const Borrowed& borrowed, const ArrayPieces::Placement& placement,
                 std::span<const std::uint64_t> offsets) {
    return {borrowed.memory.get(), borrowed.offset, placement.pitch_bytes, placement.slice_pitch_bytes, offsets};
}

// Whether threads of the host can write a repeated source out without looking where each of its pieces is: it is
// memory that they may read at any time, and nowhere near the destination.
bool can_write_out(const Ends& ends, const End& destination, const End& source, bool addresses) {
    if (ends.route != Route::h2h && (ends.route != Route::h2d || ends.source == MemoryKind::managed)) return false;
    if (!addresses && ends.route == Route::h2d) return true;
    return destination.address + destination.bytes <= source.address ||
           source.address + source.bytes <= destination.address;
}

// Opens the other device, if there is one, and looks whether the memory is as a copy between the two wants it.
Status find_other(Device& device, const OtherDevices& others, CopyJob& job) {
    const Ends& ends = job.ends;
    if (!ends.is_between_devices()) return {};
    ISTHMUS_TRY_ASSIGN(other, others(ends.other_device));
    if (auto why = device.why_no_peer(*other)) return unsupported(*why);
    if (ends.other_context != 0 && ends.other_context != other->context_handle()) {
        return invalid(std::string("the ") + (ends.other_is_destination ? "destination" : "source") +
                       " is memory of a CUDA context that the program created (cuCtxCreate) on " + name_of(*other) +
                       "; allocate it in the device's primary context (cuDevicePrimaryCtxRetain, cudaMalloc)");
    }
    job.is_reached = job.extent.pieces() == 1 || !device.why_no_peer_reach(*other);
    if (!job.is_reached && job.extent.pieces() > most_pieces_between) {
        return unsupported(
            std::to_string(job.extent.pieces()) + " pieces of " + std::to_string(job.extent.width_bytes) +
            " bytes between " + name_of(device) + " and " + name_of(*other) +
            ", which do not reach each other's memory, so that each piece would be a call of the driver: copy "
            "to an array without gaps on the source's device first, and that one between the devices");
    }
    job.other = std::move(other);
    return {};
}

}  // namespace

const char* name_of(Choice::Kind kind) {
    switch (kind) {
        case Choice::Kind::nothing: return "nothing";
        case Choice::Kind::host: return "host";
        case Choice::Kind::driver: return "driver";
        case Choice::Kind::direct: return "direct";
        case Choice::Kind::staged: return "staged";
        case Choice::Kind::device: return "device";
        case Choice::Kind::pieces: return "pieces";
        case Choice::Kind::rows: return "rows";
    }
    return "";
}

CopyJob::~CopyJob() {
    if (spare == nullptr) return;
    spare->give(std::move(destination_offsets));
    spare->give(std::move(source_offsets));
}

Status CopyJob::scatter() {
    if (!is_repeated()) return {};
    ISTHMUS_TRY_ASSIGN(offsets, offsets_of(source_steps, extent.pieces()));
    source_offsets = std::move(offsets);
    source_steps.clear();
    source.steps = {};
    source.offsets = source_offsets;
    return {};
}

Status CopyJob::check_disjoint() {
    is_disjoint = is_disjoint || are_disjoint(destination.offsets, extent.width_bytes);
    return is_disjoint ? Status() : overlapping_destinations();
}

Result<std::shared_ptr<CopyJob>> job_of(Device& device, const OtherDevices& others, const ArrayView& destination,
                                        const ArrayView& source) {
    ISTHMUS_TRY_ASSIGN(pieces, ArrayPieces::of(destination, source));
    if (pieces.extent.bytes() == 0) return std::shared_ptr<CopyJob>();
    const End to_end = end_of(destination, pieces.destination);
    const End from_end = end_of(source, pieces.source);
    ISTHMUS_TRY_ASSIGN(ends, ends_of(device, to_end, from_end, true));
    if (!can_write_out(ends, to_end, from_end, has_addresses(device))) ISTHMUS_TRY(pieces.write_offsets());
    auto job = std::make_shared<CopyJob>();
    job->ends = ends;
    job->extent = pieces.extent;
    ISTHMUS_TRY(find_other(device, others, *job));
    Device& to_device = job->other != nullptr && ends.other_is_destination ? *job->other : device;
    Device& from_device = job->other != nullptr && !ends.other_is_destination ? *job->other : device;
    ISTHMUS_TRY_ASSIGN(
        to, borrow(to_device, ends.destination, destination, pieces.destination, ends.destination_for_kernels));
    ISTHMUS_TRY_ASSIGN(from, borrow(from_device, ends.source, source, pieces.source, ends.source_for_kernels));
    job->destination_offsets = std::move(pieces.destination.offsets);
    job->source_offsets = std::move(pieces.source.offsets);
    job->destination = layout_of(to, pieces.destination, job->destination_offsets);
    job->source_steps = std::move(pieces.source.steps);
    job->source = layout_of(from, pieces.source, job->source_offsets);
    job->source.steps = job->source_steps;
    job->destination_memory = std::move(to.memory);
    job->source_memory = std::move(from.memory);
    std::uintptr_t destination_from = destination.address;
    std::uintptr_t source_from = source.address;
    bool apart = job->is_repeated();
    if (!has_addresses(device) && ends.route != Route::h2h) {
        apart = apart || ends.route != Route::d2d || destination.address != source.address;
        destination_from = destination.offset_bytes;
        source_from = source.offset_bytes;
    }
    if (!apart && overlap(*job, destination_from + static_cast<std::size_t>(pieces.destination.first_bytes),
                          source_from + static_cast<std::size_t>(pieces.source.first_bytes))) {
        return invalid("source and destination overlap; copy to other memory first, or copy the parts that do not");
    }
    return job;
}

Result<std::shared_ptr<CopyJob>> job_of(Device& device, const ArrayView& destination, const FileRange& file) {
    const std::size_t bytes = destination.bytes();
    if (bytes == 0) return std::shared_ptr<CopyJob>();
    ArrayPieces::Placement all;
    all.span_bytes = all.pitch_bytes = all.slice_pitch_bytes = bytes;
    // Bytes of a file come through the host's memory.
    const std::byte read{};
    ISTHMUS_TRY_ASSIGN(
        ends, ends_of(device, end_of(destination, all), {reinterpret_cast<std::uintptr_t>(&read), Side::host}, true));
    ends.source = MemoryKind::pageable;
    ISTHMUS_TRY_ASSIGN(to, borrow(device, ends.destination, destination, all, ends.destination_for_kernels));
    auto job = std::make_shared<CopyJob>();
    job->ends = ends;
    job->extent = {bytes, 1, 1};
    job->destination = layout_of(to, all, {});
    job->destination_memory = std::move(to.memory);
    job->file = std::make_unique<FileBytes>(file, bytes);
    job->source = contiguous(*job->file, 0, job->extent);
    return job;
}

bool overlap(const CopyJob& job, std::uintptr_t destination, std::uintptr_t source) {
    const Extent& extent = job.extent;
    const auto begin_of = [&](const Layout& layout, std::uintptr_t lowest, std::size_t piece) {
        return lowest + (layout.at(piece, extent) - layout.offset);
    };
    const std::uintptr_t destination_end = destination + job.destination.span_bytes(extent);
    const std::uintptr_t source_end = source + job.source.span_bytes(extent);
    if (destination_end <= source || source_end <= destination) return false;
    // The two ranges overlap: whether their pieces do, too. Pieces of the source may overlap each other.
    const std::size_t pieces = extent.pieces();
    std::vector<std::uintptr_t> begins(pieces);
    for (std::size_t i = 0; i < pieces; ++i) begins[i] = begin_of(job.destination, destination, i);
    std::sort(begins.begin(), begins.end());
    for (std::size_t i = 0; i < pieces; ++i) {
        const std::uintptr_t begin = begin_of(job.source, source, i);
        // The first one of the destination that does not end before this one of the source begins.
        const std::uintptr_t lowest = begin < extent.width_bytes ? 0 : begin - extent.width_bytes + 1;
        const auto next = std::lower_bound(begins.begin(), begins.end(), lowest);
        if (next != begins.end() && *next < begin + extent.width_bytes) return true;
    }
    return false;
}

bool JobParts::next(JobPart& part) {
    const Extent& whole = job_.extent;
    const std::size_t pieces = whole.pieces();
    if (first_ >= pieces) return false;
    part.first = first_;
    if (job_.is_scattered() && whole.slices == 1) {
        part.extent = {whole.width_bytes, std::min(most_, pieces - first_), 1};
    } else if (first_ % whole.rows == 0 && whole.rows <= most_) {
        part.extent = {whole.width_bytes, whole.rows, std::min(most_ / whole.rows, whole.slices - first_ / whole.rows)};
    } else {
        part.extent = {whole.width_bytes, std::min(most_, whole.rows - first_ % whole.rows), 1};
    }
    const auto side = [&](const Layout& layout) {
        Layout cut = layout;
        if (!layout.steps.empty()) return cut;  // whole, as threads pack it
        if (layout.is_scattered()) {
            cut.offsets = layout.offsets.subspan(first_, part.extent.pieces());
        } else {
            cut.offset = layout.at(first_, whole);
        }
        return cut;
    };
    part.destination = side(job_.destination);
    part.source = side(job_.source);
    first_ += part.extent.pieces();
    return true;
}

}  // namespace isthmus
