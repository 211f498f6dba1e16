// What a copy that holds its stream is made of, and the page-locked memory that it gets.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/device.hpp"
#include "backend/stream.hpp"
#include "base/pages.hpp"
#include "transfer/pieces/kernel_copies.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/rows/row_launch.hpp"
#include "transfer/session/starter.hpp"

namespace isthmus {
namespace {

// That are worth a call of the driver each, for want of anything better.
constexpr std::size_t most_separate_copies = std::size_t{1} << 16;

// Kernels ask for an offset of either side for each half kibibyte. Over the link these answers take a third of its
// rate; shorter tables take less there than one more command.
constexpr std::size_t least_table_on_device_bytes = std::size_t{16} << 10;

// What is sent through the ring, and the offsets next to it.
struct Needs {
    HeldNeeds ring;
    std::size_t table_bytes = 0;
    bool on_device = false;
    const Packing* packing = nullptr;

    void add(const CopyJob& job, const Packing& how) {
        ring.bytes += job.extent.bytes();
        ring.longest_bytes = std::max(ring.longest_bytes, job.extent.bytes());
        ++ring.buffers;
        if (packing != nullptr) return;
        packing = &how;
        ring.wanted_chunk_bytes = how.chunk_bytes;
    }
};

std::size_t offsets_bytes(const Layout& layout) {
    return layout.offsets.size_bytes();
}

// Puts the offsets of layouts where they are read, and says where.
class Tables {
  public:
    Tables(Device& device, const RingPool::Loan& ring, bool on_device)
        : device_(device),
          host_(ring.host()),
          read_(on_device ? ring.on_device() : ring.host()),
          next_(ring.offset()) {}
    Region add(HeldCopy& held, const Layout& destination, const Layout& source) {
        const std::size_t begin = next_;
        for (const Layout* layout : {&destination, &source}) {
            if (layout->offsets.empty()) continue;
            std::memcpy(host_->host() + next_, layout->offsets.data(), offsets_bytes(*layout));
            next_ += offsets_bytes(*layout);
        }
        if (next_ == begin) return {};
        const Region table{read_, begin, next_ - begin};
        if (read_ != host_) {
            held.add_commands([&device = device_, table, host = host_](Stream& stream) {
                return device.copy(stream, table, {host, table.offset, table.bytes});
            });
        }
        return table;
    }

  private:
    Device& device_;
    Allocation* host_;
    Allocation* read_;
    std::size_t next_;
};

}  // namespace

Starter::Share Starter::share_of(const Task& task) const {
    const CopyJob& job = *task.job;
    if (task.choice.kind == Choice::Kind::host) return Share::host;
    const bool on_device = job.ends.route == Route::d2d;
    if (job.is_repeated() || (!on_device && is_pageable(job.ends.host_kind()))) return Share::packed;
    if (job.is_contiguous() || task.choice.kind == Choice::Kind::rows || !job.is_reached) return Share::commands;
    if (job.is_scattered() && (on_device || device_->kernels_reach(job.ends.host_kind()))) return Share::tabled;
    return on_device ? Share::commands : Share::packed;
}

Result<std::unique_ptr<Rendezvous>> Starter::rendezvous() {
    if (auto why = device_->why_no_rendezvous()) {
        return unsupported("a stream cannot wait for a copy that the host takes part in (" + *why +
                           "): wait for the copy instead, or copy from page-locked memory");
    }
    return device_->create_rendezvous();
}

Result<std::shared_ptr<HeldCopy>> Starter::held_copy(const std::vector<Task>& tasks) {
    const bool reached = device_->kernels_reach(MemoryKind::pinned);
    Needs needs;
    bool meets = false;
    for (const Task& task : tasks) {
        const CopyJob& job = *task.job;
        const Share share = share_of(task);
        if (share == Share::packed) {
            needs.add(job, task.choice.packing);
            if (needs_kernel(job.device_side(), job.extent)) {
                needs.table_bytes += offsets_bytes(job.device_side());
                needs.on_device = needs.on_device || !reached;
            }
        }
        if (share == Share::tabled) {
            needs.table_bytes += offsets_bytes(job.destination) + offsets_bytes(job.source);
            needs.on_device = needs.on_device || !reached;
        }
        meets = meets || share == Share::packed || share == Share::host;
    }
    HeldCopy::Plan plan;
    plan.blocks = blocks_;
    std::optional<RingPool::Loan> ring;
    bool tables_on_device = false;
    const std::size_t table_bytes = in_pages(needs.table_bytes);
    if (needs.ring.bytes + table_bytes != 0) {
        RingPool& rings = *rings_[tasks.front().job->to_device() ? 0 : 1];
        const HeldPlan chunks(needs.ring, rings.capacity_bytes());
        const std::size_t least_bytes = table_bytes + chunks.least_ring_bytes();
        const std::size_t most_bytes = table_bytes + chunks.most_ring_bytes();
        tables_on_device = needs.on_device || table_bytes >= least_table_on_device_bytes;
        const auto borrow = [&]() -> Result<RingPool::Loan> {
            auto loan = rings.borrow(least_bytes, most_bytes, tables_on_device);
            if (loan.ok() || needs.on_device || !tables_on_device) return loan;
            // There may be no room on the device, without which it is slower.
            tables_on_device = false;
            return rings.borrow(least_bytes, most_bytes, false);
        };
        auto borrowed = borrow();
        if (!borrowed.ok()) {
            Status why = borrowed.take_status();
            if (why.code() != Code::out_of_memory) return why;
            return without_ring(tasks, std::move(why));
        }
        ring.emplace(std::move(borrowed.value()));
        plan.chunk_bytes = chunks.chunk_bytes(ring->bytes() - table_bytes);
        plan.slots = chunks.slots(ring->bytes() - table_bytes);
        if (needs.packing != nullptr) {
            plan.threads = std::max<std::size_t>(needs.packing->threads, 1);
            plan.stores = needs.packing->stores.value_or(
                suitable_stores(tasks.front().job->to_device(), false, needs.ring.bytes));
        }
    }
    std::unique_ptr<Rendezvous> rendezvous;
    if (meets) ISTHMUS_TRY(assign(rendezvous, this->rendezvous()));
    auto held = std::make_shared<HeldCopy>(*device_, std::move(rendezvous), plan);
    std::optional<Tables> tables;
    if (ring) {
        tables.emplace(*device_, *ring, tables_on_device);
        held->use(std::move(*ring), table_bytes);
    }
    for (const Task& task : tasks) {
        const std::shared_ptr<CopyJob>& job = task.job;
        held->keep(job);
        switch (share_of(task)) {
            case Share::host: held->add_host_work([this, job] { return mover_.on_host(*job).status; }); break;
            case Share::commands:
                held->add_commands([this, task](Stream& stream) { return enqueue(stream, task); });
                break;
            case Share::tabled: {
                const Region table = tables->add(*held, job->destination, job->source);
                held->add_commands([this, job, table](Stream& stream) {
                    return device_->copy_pieces(stream, job->destination, job->source, job->extent,
                                                units_of(job->destination, job->source, job->extent), table,
                                                chooser_.blocks_between(job->destination, job->source));
                });
                break;
            }
            case Share::packed: {
                const PackedPieces pieces(job->destination, job->source, job->extent);
                const Layout none;
                Region table;
                if (pieces.needs_kernel()) {
                    table = job->to_device() ? tables->add(*held, job->destination, none)
                                             : tables->add(*held, none, job->source);
                }
                held->add_packed(pieces, table, reached && pieces.needs_kernel());
                break;
            }
        }
    }
    held->complete();
    return held;
}

std::shared_ptr<HeldCopy> Starter::held_rows(std::shared_ptr<RowLaunch> rows) {
    std::unique_ptr<Rendezvous> none;
    auto held = std::make_shared<HeldCopy>(*device_, std::move(none), HeldCopy::Plan{});
    held->add_commands([rows](Stream& stream) { return rows->enqueue(stream); });
    held->ask_at_end([launch = rows.get()] { return launch->verdict(); });
    held->keep(std::move(rows));
    return held;
}

Result<std::shared_ptr<HeldCopy>> Starter::without_ring(const std::vector<Task>& tasks, Status why) {
    std::unique_ptr<Rendezvous> none;
    auto held = std::make_shared<HeldCopy>(*device_, std::move(none), HeldCopy::Plan{});
    for (const Task& task : tasks) {
        // The driver refuses those, and what it is to copy piece by piece could take it seconds.
        if (task.job->ends.partly_locked || task.job->extent.pieces() > most_separate_copies) return why;
        ISTHMUS_TRY(task.job->scatter());
        held->keep(task.job);
        held->add_commands([this, job = task.job](Stream& stream) { return enqueue_plain(stream, *job); });
    }
    return held;
}

Status Starter::enqueue_plain(Stream& stream, const CopyJob& job) {
    const JobPart all{0, job.extent, job.destination, job.source};
    // The driver reads pageable memory when it is called, and not when the stream has come so far.
    if (job.to_device() && is_pageable(job.ends.host_kind())) ISTHMUS_TRY(stream.synchronize());
    if (!job.is_contiguous() && !job.is_scattered()) {
        Status status = mover_.enqueue(stream, PieceMethod::section, all);
        if (status.code() != Code::unsupported) return status;
    }
    return mover_.enqueue(stream, PieceMethod::copies, all);
}

}  // namespace isthmus
