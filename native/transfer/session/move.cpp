// Moves what was resolved by the method that was chosen, and returns when it has arrived.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "base/threads.hpp"
#include "transfer/copy/outcome.hpp"
#include "transfer/links/divided_copy.hpp"
#include "transfer/pieces/pack.hpp"
#include "transfer/session/mover.hpp"

namespace isthmus {
namespace {

std::shared_ptr<CopyJob> row_of(const std::shared_ptr<CopyJob>& job, std::size_t index) {
    auto row = std::make_shared<CopyJob>();
    row->whole = job;
    row->ends = job->ends;
    row->extent = {job->extent.width_bytes, 1, 1};
    row->destination = contiguous(*job->destination.allocation, job->destination.at(index, job->extent), row->extent);
    row->source = contiguous(*job->source.allocation, job->source.at(index, job->extent), row->extent);
    return row;
}

}  // namespace

Outcome Mover::with_progress(Outcome outcome, Route route, std::size_t bytes) {
    if (outcome.status.ok() || outcome.status.code() == Code::invalid_argument) return outcome;
    outcome.status = std::move(outcome.status)
                         .in(std::string("copying ") + std::to_string(bytes) + " bytes " + name_of(route) +
                             ", of which " + std::to_string(outcome.bytes_completed) + " had arrived");
    return outcome;
}

Outcome Mover::perform(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    return with_progress(move(job, choice, order), job->ends.route, job->extent.bytes());
}

Outcome Mover::perform(const std::vector<std::shared_ptr<CopyJob>>& jobs, const Order& order) {
    Outcome all;
    for (const std::shared_ptr<CopyJob>& job : jobs) {
        Outcome one = perform(job, chooser_.choose(*job), order);
        all.bytes_completed += one.bytes_completed;
        if (!one.status.ok()) return {std::move(one.status), all.bytes_completed};
    }
    return all;
}

Outcome Mover::move(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    if (choice.kind != Choice::Kind::pieces) ISTHMUS_TRY(job->check_disjoint());
    switch (choice.kind) {
        case Choice::Kind::nothing: return {};
        case Choice::Kind::host: ISTHMUS_TRY(order.wait()); return on_host(*job);
        case Choice::Kind::device: return in_device(*job, order);
        case Choice::Kind::driver:
        case Choice::Kind::direct:
            return by_driver(job->destination_region(), job->source_region(), cut_of(choice, job->ends), order);
        case Choice::Kind::staged: return staged(job, choice, order);
        case Choice::Kind::rows: return rows(job, order);
        case Choice::Kind::pieces: return by_pieces(job, choice, order);
    }
    return {};
}

Outcome Mover::on_host(CopyJob& job) {
    std::array<Allocation*, 2> opened{};
    Status status;
    for (Allocation* memory : {job.destination.allocation, job.source.allocation}) {
        if (status.ok()) status = device_.begin_host_access(*memory);
        if (status.ok()) opened[opened[0] == nullptr ? 0 : 1] = memory;
    }
    if (status.ok()) {
        std::byte* const to = job.destination.allocation->host();
        const std::byte* const from = job.source.allocation->host();
        const Extent& extent = job.extent;
        if (job.destination.is_contiguous(extent)) {
            pack(to + job.destination.offset, job.source, extent, 0, extent.bytes(), Stores::ordinary);
        } else {
            for (std::size_t i = 0; i < extent.pieces(); ++i) {
                std::memcpy(to + job.destination.at(i, extent), from + job.source.at(i, extent), extent.width_bytes);
            }
        }
    }
    Status closed;
    for (Allocation* memory : opened) {
        if (memory == nullptr) continue;
        Status one = device_.end_host_access(*memory);
        if (closed.ok()) closed = std::move(one);
    }
    return ended(std::move(status), std::move(closed), job.extent.bytes());
}

Result<bool> Mover::look_at(Access access, const Layout& host, const Extent& extent) const {
    if (!options_.checks_memory || !is_pageable(host.allocation->kind())) return false;
    const Mappings::Answer answer = may_access(access, host, extent);
    if (answer == Mappings::Answer::no) return no_access(access);
    return answer == Mappings::Answer::unknown;
}

Status Mover::check_memory(Access access, const Layout& host, const Extent& extent) const {
    ISTHMUS_TRY_ASSIGN(by_page, look_at(access, host, extent));
    if (!by_page || make_accessible(access, host, extent, 0, extent.bytes())) return {};
    return no_access(access);
}

Status Mover::check_memory(const CopyJob& job) const {
    return check_memory(job.to_device() ? Access::read : Access::write, job.host_side(), job.extent);
}

Outcome Mover::by_driver(const Region& destination, const Region& source, Cut cut, const Order& order) {
    const Extent extent{source.bytes, 1};
    const auto checked = [&](Access access, const Region& region) {
        return check_memory(access, contiguous(*region.allocation, region.offset, extent), extent);
    };
    ISTHMUS_TRY(checked(Access::read, source));
    ISTHMUS_TRY(checked(Access::write, destination));
    const bool large = cut != Cut::none && source.bytes > part_bytes;
    if (order.stream != nullptr && !large) {
        Status status = device_.copy(*order.stream, destination, source);
        return ended(std::move(status), order.stream->synchronize(), source.bytes);
    }
    ISTHMUS_TRY(order.wait());
    if (large) return in_parts(destination, source, cut);
    ISTHMUS_TRY_ASSIGN(loan, streams_.borrow());
    Status status = device_.copy(loan.stream(), destination, source);
    return ended(std::move(status), loan.stream().synchronize(), source.bytes);
}

Outcome Mover::by_driver(const BatchPiece& piece, const Ends& ends, Cut cut, const Order& order) {
    const bool large = cut != Cut::none && piece.bytes > part_bytes;
    if (order.stream != nullptr && !large && !options_.checks_memory && ends.host_kind() != MemoryKind::managed) {
        const Side to = ends.route == Route::h2d ? Side::device : Side::host;
        return ended(
            device_.copy_now(*order.stream, to, piece.destination, piece.source, piece.bytes, ends.host_kind()), {},
            piece.bytes);
    }
    // The driver's copy knows by itself what is page-locked.
    const auto plain_kind = [](MemoryKind kind) { return kind == MemoryKind::pinned ? MemoryKind::pageable : kind; };
    ISTHMUS_TRY_ASSIGN(to, device_.borrow(plain_kind(ends.destination), piece.destination, piece.bytes));
    ISTHMUS_TRY_ASSIGN(from, device_.borrow(plain_kind(ends.source), piece.source, piece.bytes));
    return by_driver({to.get(), 0, piece.bytes}, {from.get(), 0, piece.bytes}, cut, order);
}

Outcome Mover::in_parts(const Region& destination, const Region& source, Cut cut) {
    ISTHMUS_TRY_ASSIGN(loan, streams_.borrow());
    if (cut == Cut::links) {
        Links& links = links_[is_on_device(destination.allocation->kind()) ? 0 : 1];
        const std::size_t chunk_bytes = links.waited_chunk_bytes(source.bytes);
        if (auto use = links.use(source.bytes, chunk_bytes, nullptr)) {
            return copy_divided(device_, loan, &*use, chunk_bytes, destination, source);
        }
    }
    return copy_divided(device_, loan, nullptr, part_bytes, destination, source);
}

Outcome Mover::staged(const std::shared_ptr<CopyJob>& job, const Choice& choice, const Order& order) {
    ISTHMUS_TRY(order.wait());
    Outcome outcome = through_lane(job, PieceMethod::pack_threads, choice.packing);
    if (!leaves_to_others(outcome)) return outcome;
    return by_driver(job->destination_region(), job->source_region(), Cut::none, order);
}

Outcome Mover::rows(const std::shared_ptr<CopyJob>& job, const Order& order) {
    const std::size_t width = job->extent.width_bytes;
    std::size_t completed = 0;
    for (std::size_t i = 0; i < job->extent.pieces(); ++i) {
        const std::shared_ptr<CopyJob> row = row_of(job, i);
        Outcome outcome = move(row, chooser_.choose_buffer(row->ends, width), order);
        completed += outcome.bytes_completed;
        if (!outcome.status.ok()) return {std::move(outcome.status), completed};
    }
    return {Status(), completed};
}

}  // namespace isthmus
