// Moves pieces by the method that was chosen, or by the next one that can, and returns when they have arrived.
#include <algorithm>
#include <mutex>
#include <utility>

#include "backend/device.hpp"
#include "base/threads.hpp"
#include "transfer/copy/outcome.hpp"
#include "transfer/pieces/kernel_copies.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/session/mover.hpp"

namespace isthmus {
namespace {

constexpr std::size_t first_kernel_part_bytes = std::size_t{4} << 20;

bool needs_lane(PieceMethod method, const CopyJob& job) {
    switch (method) {
        case PieceMethod::pack:
        case PieceMethod::pack_threads:
        case PieceMethod::pack_kernel:
        case PieceMethod::device_pack: return true;
        case PieceMethod::kernel: return job.is_scattered();
        default: return false;
    }
}

}  // namespace

Outcome Mover::by_pieces(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    const bool pageable = is_pageable(job->ends.host_kind());
    const std::array methods{choice.method, pageable ? PieceMethod::pack_threads : PieceMethod::kernel,
                             PieceMethod::section, PieceMethod::copies};
    Outcome outcome;
    for (const PieceMethod method : methods) {
        if (!has_room(method, *job)) continue;
        if (method != PieceMethod::pack_threads) ISTHMUS_TRY(job->scatter());
        if (!packs_on_threads(method)) ISTHMUS_TRY(job->check_disjoint());
        if (needs_lane(method, *job)) {
            ISTHMUS_TRY(order.wait());
            outcome =
                method == PieceMethod::kernel ? over_link_by_kernels(*job) : through_lane(job, method, choice.packing);
        } else {
            outcome = without_lane(*job, method, order);
        }
        if (!leaves_to_others(outcome)) break;
    }
    return outcome;
}

bool Mover::has_room(PieceMethod method, const CopyJob& job) const {
    return !needs_lane(method, job) || lane(job.to_device() || job.ends.route == Route::d2d).has_room();
}

Outcome Mover::through_lane(const std::shared_ptr<CopyJob>& job, PieceMethod method, Packing packing) {
    StagingLane& lane = this->lane(job->to_device());
    packing.file = job->file.get();
    if (packs_on_threads(method)) {
        ISTHMUS_TRY_ASSIGN(by_page,
                           look_at(job->to_device() ? Access::read : Access::write, job->host_side(), job->extent));
        packing.checks_memory = by_page;
    } else if (Status status = check_memory(*job); !status.ok()) {
        return {std::move(status)};
    }
    // Clearing pages takes longer than one link takes for them.
    if (!packing.clears_pages.value_or(false)) packing.links = &links_[job->to_device() ? 0 : 1];
    if (!job->is_disjoint) packing.condition = [job] { return job->check_disjoint(); };
    const std::size_t width = job->extent.width_bytes;
    // Buffers, and what threads pack, go through the ring at any length, and stop for others by themselves.
    std::size_t most = SIZE_MAX;
    if (method == PieceMethod::pack || method == PieceMethod::device_pack) most = lane.ring().bytes / width;
    const bool by_copies = method == PieceMethod::pack || method == PieceMethod::pack_threads;
    const bool spreads =
        job->device_side().is_scattered() && (!by_copies || needs_kernel(job->device_side(), job->extent));
    if (spreads) most = std::min(most, lane.most_pieces(1));
    JobParts parts(*job, most);
    JobPart part;
    std::size_t completed = 0;
    while (parts.next(part)) {
        std::shared_ptr<PieceCopy> copy;
        do {
            const std::lock_guard lock(lane.mutex());
            if (copy == nullptr) {
                auto staging = lane.staging();
                if (!staging.ok()) return {staging.take_status(), completed};
                auto created = PieceCopy::create(method, part.destination, part.source, part.extent, staging.value(),
                                                 job, packing, true);
                if (!created.ok()) return {created.take_status(), completed};
                copy = std::move(created.value());
            }
            if (Status status = copy->run(); !status.ok()) {
                return {std::move(status), completed + copy->bytes_arrived()};
            }
        } while (!copy->is_complete());
        completed += part.extent.bytes();
    }
    return {Status(), completed};
}

Outcome Mover::without_lane(CopyJob& job, PieceMethod method, const Order& order) {
    const Extent& extent = job.extent;
    const std::size_t bytes = extent.bytes();
    ISTHMUS_TRY(check_memory(job));
    std::unique_ptr<PreparedCopies> batch;
    if (method == PieceMethod::batch) {
        if (auto why = device_.why_no_batch()) return {unsupported(*why)};
        ISTHMUS_TRY_ASSIGN(prepared, device_.prepare_batch(job.destination, job.source, extent));
        batch = std::move(prepared);
    }
    if (method == PieceMethod::kernel) {
        if (auto why = device_.why_no_reach(job.ends.host_kind())) return {unsupported(*why)};
    }
    // The driver's batches take no default stream.
    std::optional<StreamPool::Loan> loan;
    Stream* stream = order.stream;
    if (stream == nullptr || batch != nullptr || bytes > part_bytes) {
        ISTHMUS_TRY(order.wait());
        ISTHMUS_TRY_ASSIGN(borrowed, streams_.borrow());
        loan.emplace(std::move(borrowed));
        stream = &loan->stream();
    }
    Status status;
    if (batch != nullptr) {
        status = batch->enqueue(*stream);
    } else {
        JobParts parts(job, std::max<std::size_t>(part_bytes / extent.width_bytes, 1));
        JobPart part;
        while (status.ok() && parts.next(part)) status = enqueue(*stream, method, part);
    }
    const bool nothing_begun = !status.ok() && status.code() == Code::unsupported;
    Status last = stream->synchronize();
    if (nothing_begun) return {std::move(status)};
    return ended(std::move(status), std::move(last), bytes);
}

Status Mover::enqueue(Stream& stream, PieceMethod method, const JobPart& part) {
    const Extent& extent = part.extent;
    if (method == PieceMethod::kernel) {
        return device_.copy_pieces(stream, part.destination, part.source, extent,
                                   units_of(part.destination, part.source, extent), {},
                                   chooser_.blocks_between(part.destination, part.source));
    }
    if (method == PieceMethod::section) return device_.copy_section(stream, part.destination, part.source, extent);
    const std::size_t width = extent.width_bytes;
    for (std::size_t i = 0; i < extent.pieces(); ++i) {
        ISTHMUS_TRY(device_.copy(stream, {part.destination.allocation, part.destination.at(i, extent), width},
                                 {part.source.allocation, part.source.at(i, extent), width}));
    }
    return {};
}

Outcome Mover::in_device(CopyJob& job, const Order& order) {
    if (job.is_contiguous()) return by_driver(job.destination_region(), job.source_region(), Cut::none, order);
    if (!has_room(PieceMethod::kernel, job) || !job.is_reached) return without_lane(job, PieceMethod::copies, order);
    if (!job.is_scattered()) return without_lane(job, PieceMethod::kernel, order);
    ISTHMUS_TRY(order.wait());
    return by_kernels(job, lane(true), blocks_.within_device());
}

Outcome Mover::over_link_by_kernels(const CopyJob& job) {
    ISTHMUS_TRY(KernelCopy::check(device_, job.ends.host_kind()));
    ISTHMUS_TRY(check_memory(job));
    return by_kernels(job, lane(job.to_device()), blocks_);
}

// In parts on two streams, so that the offsets of one are on their way while the kernel of another works.
Outcome Mover::by_kernels(const CopyJob& job, StagingLane& lane, const KernelBlocks& blocks) {
    constexpr std::size_t streams = 2;
    const std::size_t sides = (job.destination.is_scattered() ? 1 : 0) + (job.source.is_scattered() ? 1 : 0);
    const std::size_t most = lane.most_pieces(sides) / streams;
    // Nothing moves before the first part's offsets are written: it is small, and each later one twice as large, up to
    // a bound.
    std::size_t most_bytes = first_kernel_part_bytes;
    const auto pieces_of_part = [&] { return std::min(most, most_bytes / job.extent.width_bytes); };
    JobParts parts(job, pieces_of_part());
    JobPart part;
    std::size_t completed = 0;
    for (bool are_more = parts.next(part); are_more;) {
        const std::lock_guard lock(lane.mutex());
        auto taken = lane.staging();
        if (!taken.ok()) return {taken.take_status(), completed};
        Staging& staging = *taken.value();
        const std::array<Stream*, streams> on{&staging.stream(), &staging.kernels()};
        std::array<std::size_t, streams> bytes_on{};
        Status status = staging.usable();
        if (status.ok()) status = staging.need_offsets_on_device();
        std::size_t slot = 0, begun = 0;
        const auto finish = [&] {
            if (bytes_on[slot] == 0) return;
            Status ended = on[slot]->synchronize();
            if (status.ok()) status = std::move(ended);
            if (status.ok()) completed += bytes_on[slot];
            bytes_on[slot] = 0;
        };
        for (; status.ok() && are_more; slot = (slot + 1) % streams) {
            if (begun >= turn_bytes && lane.mutex().awaited()) break;
            finish();
            if (!status.ok()) break;
            bytes_on[slot] = part.extent.bytes();
            begun += part.extent.bytes();
            status = caught([&] {
                const std::size_t table_byte = slot * most * sides * sizeof(std::uint64_t);
                return enqueue_scattered(staging, *on[slot], part, table_byte, blocks);
            });
            most_bytes = std::min(2 * most_bytes, turn_bytes / streams);
            parts.set_most(pieces_of_part());
            are_more = parts.next(part);
        }
        // What was begun first, first; also after a failure.
        for (std::size_t i = 0; i < streams; ++i, slot = (slot + 1) % streams) finish();
        if (!status.ok()) return {std::move(status), completed};
    }
    return {Status(), completed};
}

Status Mover::enqueue_scattered(Staging& staging, Stream& stream, const JobPart& part, std::size_t table_byte,
                                const KernelBlocks& blocks) {
    ISTHMUS_TRY_ASSIGN(table, staging.send_offsets(stream, part.destination, part.source, table_byte));
    return device_.copy_pieces(stream, part.destination, part.source, part.extent,
                               units_of(part.destination, part.source, part.extent), table, blocks);
}

}  // namespace isthmus
