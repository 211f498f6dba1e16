// Moves what was resolved by the way that was chosen, and returns when it has arrived.
#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "transfer/pieces/kernel_copies.hpp"
#include "transfer/session/session_impl.hpp"

namespace isthmus {
namespace {

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

bool leaves_to_others(const Outcome& outcome) {
    const Code code = outcome.status.code();
    return outcome.bytes_completed == 0 && (code == Code::unsupported || code == Code::out_of_memory);
}

Outcome ended(Status status, Status last, std::size_t bytes) {
    if (status.ok()) status = std::move(last);
    const bool all = status.ok();
    return {std::move(status), all ? bytes : 0};
}

Region region_of(const Layout& layout, std::size_t bytes) {
    return {layout.allocation, layout.offset, bytes};
}

}  // namespace

Outcome SessionImpl::with_progress(Outcome outcome, Route route, std::size_t bytes) {
    if (outcome.status.ok() || outcome.status.code() == Code::invalid_argument) return outcome;
    outcome.status = std::move(outcome.status)
                         .in(std::string("copying ") + std::to_string(bytes) + " bytes " + name_of(route) +
                             ", of which " + std::to_string(outcome.bytes_completed) + " had arrived");
    return outcome;
}

Outcome SessionImpl::perform(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    return with_progress(move(job, choice, order), job->ends.route, job->extent.bytes());
}

Outcome SessionImpl::move(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    const std::size_t bytes = job->extent.bytes();
    if (choice.way != Choice::Way::pieces) {
        if (Status status = job->check_disjoint(); !status.ok()) return {std::move(status)};
    }
    switch (choice.way) {
        case Choice::Way::nothing: return {};
        case Choice::Way::host:
            if (Status status = order.wait(); !status.ok()) return {std::move(status)};
            return on_host(*job);
        case Choice::Way::device: return in_device(*job, order);
        case Choice::Way::driver:
        case Choice::Way::direct:
            return by_driver(region_of(job->destination, bytes), region_of(job->source, bytes),
                             choice.way == Choice::Way::direct, order);
        case Choice::Way::staged: return staged(job, choice, order);
        case Choice::Way::rows: return rows(job, order);
        case Choice::Way::pieces: return by_pieces(job, choice, order);
    }
    return {};
}

Outcome SessionImpl::on_host(CopyJob& job) {
    std::array<Allocation*, 2> opened{};
    Status status;
    for (Allocation* memory : {job.destination.allocation, job.source.allocation}) {
        if (status.ok()) status = device_->begin_host_access(*memory);
        if (status.ok()) opened[opened[0] == nullptr ? 0 : 1] = memory;
    }
    if (status.ok()) {
        std::byte* const to = job.destination.allocation->host();
        const std::byte* const from = job.source.allocation->host();
        const Extent& extent = job.extent;
        if (job.is_contiguous()) {
            std::memcpy(to + job.destination.offset, from + job.source.offset, extent.bytes());
        } else {
            for (std::size_t i = 0; i < extent.pieces(); ++i) {
                std::memcpy(to + job.destination.at(i, extent), from + job.source.at(i, extent), extent.width_bytes);
            }
        }
    }
    Status closed;
    for (Allocation* memory : opened) {
        if (memory == nullptr) continue;
        Status one = device_->end_host_access(*memory);
        if (closed.ok()) closed = std::move(one);
    }
    return ended(std::move(status), std::move(closed), job.extent.bytes());
}

Outcome SessionImpl::by_driver(const Region& destination, const Region& source, bool may_part, const Order& order) {
    const bool large = may_part && source.bytes > part_bytes;
    if (order.stream != nullptr && !large) {
        Status status = device_->copy(*order.stream, destination, source);
        return ended(std::move(status), order.stream->synchronize(), source.bytes);
    }
    if (Status status = order.wait(); !status.ok()) return {std::move(status)};
    if (large) return in_parts(destination, source);
    auto loan = streams_.borrow();
    if (!loan.ok()) return {loan.take_status()};
    Status status = device_->copy(loan.value().stream(), destination, source);
    return ended(std::move(status), loan.value().stream().synchronize(), source.bytes);
}

Outcome SessionImpl::by_driver(const BatchPiece& piece, const Ends& ends, bool may_part, const Order& order) {
    const bool large = may_part && piece.bytes > part_bytes;
    if (order.stream != nullptr && !large && ends.host_kind() != MemoryKind::managed) {
        const Side to = ends.route == Route::h2d ? Side::device : Side::host;
        return ended(
            device_->copy_now(*order.stream, to, piece.destination, piece.source, piece.bytes, ends.host_kind()), {},
            piece.bytes);
    }
    // The driver's copy knows by itself what is page-locked.
    const auto plain_kind = [](MemoryKind kind) { return kind == MemoryKind::pinned ? MemoryKind::pageable : kind; };
    auto to = device_->borrow(plain_kind(ends.destination), piece.destination, piece.bytes);
    if (!to.ok()) return {to.take_status()};
    auto from = device_->borrow(plain_kind(ends.source), piece.source, piece.bytes);
    if (!from.ok()) return {from.take_status()};
    return by_driver({to.value().get(), 0, piece.bytes}, {from.value().get(), 0, piece.bytes}, may_part, order);
}

Outcome SessionImpl::in_parts(const Region& destination, const Region& source) {
    auto borrowed = streams_.borrow();
    if (!borrowed.ok()) return {borrowed.take_status()};
    StreamPool::Loan& loan = borrowed.value();
    const std::size_t bytes = source.bytes;
    const std::size_t parts = (bytes + part_bytes - 1) / part_bytes;
    std::size_t passed = 0;
    Status status;
    for (std::size_t sent = 0; status.ok() && sent < parts;) {
        if (sent - passed == StreamPool::depth) {
            auto has_passed = device_->has_passed(loan.event(passed));
            if (!has_passed.ok()) {
                status = has_passed.take_status();
            } else if (has_passed.value()) {
                ++passed;
            } else {
                std::this_thread::yield();
            }
            continue;
        }
        const std::size_t begin = sent * part_bytes;
        const std::size_t length = std::min(part_bytes, bytes - begin);
        status = device_->copy(loan.stream(), {destination.allocation, destination.offset + begin, length},
                               {source.allocation, source.offset + begin, length});
        if (status.ok()) status = device_->record(loan.event(sent), loan.stream());
        if (status.ok()) ++sent;
    }
    Outcome outcome = ended(std::move(status), loan.stream().synchronize(), bytes);
    if (!outcome.status.ok()) outcome.bytes_completed = passed * part_bytes;
    return outcome;
}

Outcome SessionImpl::staged(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    if (Status status = order.wait(); !status.ok()) return {std::move(status)};
    Outcome outcome = through_lane(job, PieceMethod::pack_threads, choice.packing);
    if (!leaves_to_others(outcome)) return outcome;
    const std::size_t bytes = job->extent.bytes();
    return by_driver(region_of(job->destination, bytes), region_of(job->source, bytes), false, order);
}

Outcome SessionImpl::by_pieces(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    const bool pageable = is_pageable(job->ends.host_kind());
    const std::array methods{choice.method, pageable ? PieceMethod::pack_threads : PieceMethod::kernel,
                             PieceMethod::section, PieceMethod::copies};
    Outcome outcome;
    for (const PieceMethod method : methods) {
        if (!has_room(method, *job)) continue;
        if (!packs_on_threads(method)) {
            if (Status status = job->check_disjoint(); !status.ok()) return {std::move(status)};
        }
        if (needs_lane(method, *job)) {
            if (Status status = order.wait(); !status.ok()) return {std::move(status)};
            outcome = through_lane(job, method, choice.packing);
        } else {
            outcome = without_lane(*job, method, order);
        }
        if (!leaves_to_others(outcome)) break;
    }
    return outcome;
}

bool SessionImpl::has_room(PieceMethod method, const CopyJob& job) const {
    return !needs_lane(method, job) || lane(job.to_device() || job.ends.route == Route::d2d).has_room();
}

Outcome SessionImpl::through_lane(const std::shared_ptr<CopyJob>& job, PieceMethod method, Packing packing) {
    StagingLane& lane = this->lane(job->to_device());
    if (!job->is_disjoint) packing.condition = [job] { return job->check_disjoint(); };
    const std::size_t width = job->extent.width_bytes;
    // Buffers, and what threads pack, go through the ring at any length, and stop for others by themselves.
    std::size_t most = SIZE_MAX;
    if (method == PieceMethod::pack || method == PieceMethod::device_pack) most = lane.ring().bytes / width;
    if (method == PieceMethod::kernel) most = turn_bytes / width;
    // Kernels alone follow the offsets of the host's side.
    const bool by_kernel = method == PieceMethod::kernel && job->host_side().is_scattered();
    const std::size_t sides = (by_kernel ? 1 : 0) + (job->device_side().is_scattered() ? 1 : 0);
    if (sides != 0) most = std::min(most, lane.most_pieces(sides));
    JobParts parts(*job, most);
    JobPart part;
    std::size_t completed = 0;
    while (parts.next(part)) {
        std::shared_ptr<PieceCopy> copy;
        do {
            const Turn turn(lane.turns());
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

Outcome SessionImpl::without_lane(CopyJob& job, PieceMethod method, const Order& order) {
    const Extent& extent = job.extent;
    const std::size_t bytes = extent.bytes();
    std::unique_ptr<PreparedCopies> batch;
    if (method == PieceMethod::batch) {
        if (auto why = device_->why_no_batch()) return {Status(Code::unsupported, *why)};
        auto prepared = device_->prepare_batch(job.destination, job.source, extent);
        if (!prepared.ok()) return {prepared.take_status()};
        batch = std::move(prepared.value());
    }
    if (method == PieceMethod::kernel) {
        if (auto why = device_->why_no_reach(job.ends.host_kind())) return {Status(Code::unsupported, *why)};
    }
    // The driver's batches take no default stream.
    std::optional<StreamPool::Loan> loan;
    Stream* stream = order.stream;
    if (stream == nullptr || batch != nullptr || bytes > part_bytes) {
        if (Status status = order.wait(); !status.ok()) return {std::move(status)};
        auto borrowed = streams_.borrow();
        if (!borrowed.ok()) return {borrowed.take_status()};
        loan.emplace(std::move(borrowed.value()));
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

Status SessionImpl::enqueue(Stream& stream, PieceMethod method, const JobPart& part) {
    const Extent& extent = part.extent;
    if (method == PieceMethod::kernel) {
        return device_->copy_pieces(stream, part.destination, part.source, extent,
                                    units_of(part.destination, part.source, extent), {});
    }
    if (method == PieceMethod::section) return device_->copy_section(stream, part.destination, part.source, extent);
    const std::size_t width = extent.width_bytes;
    for (std::size_t i = 0; i < extent.pieces(); ++i) {
        ISTHMUS_TRY(device_->copy(stream, {part.destination.allocation, part.destination.at(i, extent), width},
                                  {part.source.allocation, part.source.at(i, extent), width}));
    }
    return {};
}

Outcome SessionImpl::in_device(CopyJob& job, const Order& order) {
    const std::size_t bytes = job.extent.bytes();
    if (job.is_contiguous()) {
        return by_driver(region_of(job.destination, bytes), region_of(job.source, bytes), false, order);
    }
    if (!has_room(PieceMethod::kernel, job)) return without_lane(job, PieceMethod::copies, order);
    if (!job.is_scattered()) return without_lane(job, PieceMethod::kernel, order);
    if (Status status = order.wait(); !status.ok()) return {std::move(status)};
    JobParts parts(job, lane(true).most_pieces(2));
    JobPart part;
    std::size_t completed = 0;
    while (parts.next(part)) {
        const Turn turn(lane(true).turns());
        auto staging = lane(true).staging();
        if (!staging.ok()) return {staging.take_status(), completed};
        Status status = move_scattered(*staging.value(), part);
        if (!status.ok()) return {std::move(status), completed};
        completed += part.extent.bytes();
    }
    return {Status(), completed};
}

Status SessionImpl::move_scattered(Staging& staging, const JobPart& part) {
    ISTHMUS_TRY(staging.usable());
    ISTHMUS_TRY(staging.check_offsets(part.destination, part.source));
    Stream& stream = staging.stream();
    auto table = staging.send_offsets(stream, part.destination, part.source);
    Status status = table.ok()
                        ? device_->copy_pieces(stream, part.destination, part.source, part.extent,
                                               units_of(part.destination, part.source, part.extent), table.value())
                        : table.take_status();
    return synchronized(std::move(status), stream);
}

std::shared_ptr<CopyJob> SessionImpl::row_of(const std::shared_ptr<CopyJob>& job, std::size_t index) {
    auto row = std::make_shared<CopyJob>();
    row->whole = job;
    row->ends = job->ends;
    row->extent = {job->extent.width_bytes, 1, 1};
    row->destination = contiguous(*job->destination.allocation, job->destination.at(index, job->extent), row->extent);
    row->source = contiguous(*job->source.allocation, job->source.at(index, job->extent), row->extent);
    return row;
}

Outcome SessionImpl::rows(const std::shared_ptr<CopyJob>& job, const Order& order) {
    const std::size_t width = job->extent.width_bytes;
    std::size_t completed = 0;
    for (std::size_t i = 0; i < job->extent.pieces(); ++i) {
        const std::shared_ptr<CopyJob> row = row_of(job, i);
        Outcome outcome = move(row, choose_buffer(row->ends, width), order);
        completed += outcome.bytes_completed;
        if (!outcome.status.ok()) return {std::move(outcome.status), completed};
    }
    return {Status(), completed};
}

}  // namespace isthmus
