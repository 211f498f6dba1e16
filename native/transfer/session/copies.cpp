// What callers ask of a session: copies that are waited for, copies that are not, and how one would be made.
#include <algorithm>
#include <optional>
#include <utility>

#include "backend/device.hpp"
#include "transfer/copy/ends.hpp"
#include "transfer/copy/outcome.hpp"
#include "transfer/rows/row_launch.hpp"
#include "transfer/session/session_impl.hpp"

namespace isthmus {

Outcome SessionImpl::copy(const ArrayView& destination, const ArrayView& source, std::optional<std::uintptr_t> stream) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(job, resolver_.resolve(destination, source));
    if (job == nullptr) return {};
    const std::shared_ptr<Device>& other = job->other;
    ISTHMUS_TRY_ASSIGN(order, other != nullptr ? order_of(stream, *other) : order_of(stream));
    if (order.others != nullptr) {
        Binding others(*other);
        Status status = others.status();
        if (status.ok()) status = order.others->synchronize();
        if (!status.ok()) return {std::move(status)};
    }
    return mover_.perform(job, chooser_.choose(*job), order);
}

Outcome SessionImpl::copy_bytes(const BatchPiece& piece, Sides sides, std::optional<std::uintptr_t> stream) {
    Call call(*this);
    ISTHMUS_TRY(call.status());
    if (piece.bytes == 0) return {};
    const auto [to_device, from_device] = first_staged_;
    const std::size_t unasked = !sides.destination                  ? std::min(to_device, from_device)
                                : sides.destination == Side::device ? to_device
                                                                    : from_device;
    // Where small ones go by the driver anyway, it need not be asked about a side that is known.
    const bool kinds = piece.bytes >= unasked || !device_->refuses_overruns();
    const bool is_known = sides.destination && sides.source && sides.destination != sides.source;
    Binding binding(*device_);
    ISTHMUS_TRY(binding.status());
    // A plain copy needs nothing of what other copies are looked at for, which takes as long as a question to the
    // driver.
    std::optional<Status> refused;
    const bool is_plain = !kinds && is_known && !stream && default_stream_ != nullptr && !options_.checks_memory &&
                          piece.destination_offset_bytes == 0 && piece.source_offset_bytes == 0;
    if (is_plain) {
        ISTHMUS_TRY(default_stream_->check_usable());
        Status status = device_->copy_now(*default_stream_, *sides.destination, piece.destination, piece.source,
                                          piece.bytes, MemoryKind::pageable);
        if (status.ok()) return {Status(), piece.bytes};
        refused = std::move(status);
    }
    const End destination_end{piece.destination, sides.destination, piece.bytes};
    const End source_end{piece.source, sides.source, piece.bytes};
    ISTHMUS_TRY_ASSIGN(ends, ends_of(*device_, destination_end, source_end, kinds));
    Choice choice;
    choice.kind = Choice::Kind::driver;
    if (kinds || !is_known) choice = chooser_.choose_buffer(ends, piece.bytes);
    const auto resolved = [&] {
        ArrayView destination = ArrayView::of_bytes(piece.destination, piece.bytes);
        ArrayView source = ArrayView::of_bytes(piece.source, piece.bytes);
        destination.side = sides.destination;
        destination.offset_bytes = piece.destination_offset_bytes;
        source.side = sides.source;
        source.offset_bytes = piece.source_offset_bytes;
        return copy(destination, source, stream);
    };
    const bool plain = choice.kind == Choice::Kind::driver || choice.kind == Choice::Kind::direct;
    const bool moves = piece.destination_offset_bytes == 0 && piece.source_offset_bytes == 0;
    if (!plain || !moves) return resolved();
    Outcome outcome;
    if (refused) {
        outcome.status = std::move(*refused);
    } else {
        ISTHMUS_TRY_ASSIGN(order, order_of(stream));
        outcome = mover_.by_driver(piece, ends, cut_of(choice, ends), order);
    }
    // What was not asked before is asked when the driver refuses: it does not copy what is page-locked in part.
    if (!outcome.status.ok() && !kinds) {
        auto asked = ends_of(*device_, destination_end, source_end, true);
        if (asked.ok() && asked.value().partly_locked) return resolved();
        if (!asked.ok() && outcome.bytes_completed == 0) return {asked.take_status()};
    }
    return Mover::with_progress(std::move(outcome), ends.route, piece.bytes);
}

Outcome SessionImpl::copy_from_file(const ArrayView& destination, const FileRange& file,
                                    std::optional<std::uintptr_t> stream) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(resolved, job_of(*device_, destination, file));
    const std::shared_ptr<CopyJob>& job = resolved;
    if (job == nullptr) return {};
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    return mover_.read(job, order);
}

Outcome SessionImpl::copy_batch(const Batch& batch, Sides sides, std::optional<std::uintptr_t> stream) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(jobs, resolver_.resolve(batch, sides));
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    return mover_.perform(jobs, order);
}

Outcome SessionImpl::copy_rows(const RowCopy& copy, std::optional<std::uintptr_t> stream) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    ISTHMUS_TRY_ASSIGN(resolved, resolver_.resolve(copy, order, false));
    const Resolver::RowTasks& tasks = resolved;
    if (tasks.launch != nullptr) {
        return Mover::with_progress(launch(*tasks.launch, order), tasks.route, tasks.launch->bytes());
    }
    return mover_.perform(tasks.jobs, order);
}

Outcome SessionImpl::launch(RowLaunch& rows, const Order& order) {
    std::optional<StreamPool::Loan> loan;
    Stream* stream = order.stream;
    if (stream == nullptr) {
        ISTHMUS_TRY_ASSIGN(borrowed, streams_.borrow());
        loan.emplace(std::move(borrowed));
        stream = &loan->stream();
    }
    Status status = synchronized(rows.enqueue(*stream), *stream);
    if (status.ok()) status = rows.verdict();
    return ended(std::move(status), {}, rows.bytes());
}

Result<std::shared_ptr<CopyHandle>> SessionImpl::copy_rows_async(const RowCopy& copy,
                                                                 std::optional<std::uintptr_t> stream,
                                                                 std::shared_ptr<const void> keep) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    ISTHMUS_TRY_ASSIGN(tasks, resolver_.resolve(copy, order, false));
    if (tasks.launch != nullptr) return starter_.begin(std::move(tasks.launch), order, std::move(keep), in_use());
    return starter_.begin(tasks.jobs, order, std::move(keep), in_use());
}

Result<std::shared_ptr<CopyHandle>> SessionImpl::copy_async(const ArrayView& destination, const ArrayView& source,
                                                            std::optional<std::uintptr_t> stream,
                                                            std::shared_ptr<const void> keep) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(job, resolver_.resolve(destination, source));
    std::vector<std::shared_ptr<CopyJob>> jobs;
    const std::shared_ptr<Device> other = job == nullptr ? nullptr : job->other;
    if (job != nullptr) jobs.push_back(std::move(job));
    ISTHMUS_TRY_ASSIGN(order, other != nullptr ? order_of(stream, *other) : order_of(stream));
    return starter_.begin(jobs, order, std::move(keep), in_use());
}

Result<std::shared_ptr<CopyHandle>> SessionImpl::copy_batch_async(const Batch& batch, Sides sides,
                                                                  std::optional<std::uintptr_t> stream,
                                                                  std::shared_ptr<const void> keep) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(jobs, resolver_.resolve(batch, sides));
    for (const std::shared_ptr<CopyJob>& job : jobs) ISTHMUS_TRY(job->check_disjoint());
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    return starter_.begin(jobs, order, std::move(keep), in_use());
}

bool SessionImpl::divides(bool to_device, std::size_t bytes) {
    if (neighbours_->is_own()) return false;
    BoundCall call(*this);
    return call.status().ok() && links(to_device).divides(bytes);
}

Result<bool> SessionImpl::enqueue_divided(const BatchPiece& piece, Sides sides, std::uintptr_t stream) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    const std::size_t bytes = piece.bytes;
    ISTHMUS_TRY_ASSIGN(ends, ends_of(*device_, {piece.destination, sides.destination, bytes},
                                     {piece.source, sides.source, bytes}, true));
    const bool to_device = ends.route == Route::h2d;
    const bool crosses = to_device || ends.route == Route::d2h;
    if (!crosses || ends.host_kind() != MemoryKind::pinned) return false;
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    if (order.stream == nullptr) return false;
    ISTHMUS_TRY_ASSIGN(to, device_->borrow(ends.destination, piece.destination, bytes));
    ISTHMUS_TRY_ASSIGN(from, device_->borrow(ends.source, piece.source, bytes));
    auto use = links(to_device).use(bytes, Links::chunk_bytes(bytes), order.stream);
    if (!use) return false;
    // The own link's part is one command, as the driver's own copy is: queues are not filled sooner.
    ISTHMUS_TRY(starter_.enqueue_divided(*order.stream, *use, {to.get(), 0, bytes}, {from.get(), 0, bytes}, bytes));
    return true;
}

Result<Explanation> SessionImpl::explain(const ArrayView& destination, const ArrayView& source) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(job, resolver_.resolve(destination, source));
    if (job == nullptr) return Explanation::nothing("the arrays are empty");
    return chooser_.explain(*job);
}

Result<Explanation> SessionImpl::explain_batch(const Batch& batch, Sides sides) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    ISTHMUS_TRY_ASSIGN(jobs, resolver_.resolve(batch, sides));
    for (const std::shared_ptr<CopyJob>& job : jobs) ISTHMUS_TRY(job->check_disjoint());
    if (jobs.empty()) return Explanation::nothing("no piece has a byte");
    return chooser_.explain(jobs, "sizes");
}

Result<Explanation> SessionImpl::explain_rows(const RowCopy& copy) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    // Lists on the device are read when all that it has been given has ended.
    ISTHMUS_TRY_ASSIGN(order, order_of(std::nullopt));
    ISTHMUS_TRY_ASSIGN(tasks, resolver_.resolve(copy, order, true));
    if (tasks.jobs.empty()) return Explanation::nothing("no row has a byte");
    return chooser_.explain(tasks.jobs, "groups of layers");
}

}  // namespace isthmus
