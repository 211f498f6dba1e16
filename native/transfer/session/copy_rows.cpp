// Copies of rows that lists name: waited for, begun, and explained.
#include <utility>

#include "backend/device.hpp"
#include "transfer/copy/outcome.hpp"
#include "transfer/rows/row_launch.hpp"
#include "transfer/session/session_impl.hpp"

namespace isthmus {

Outcome SessionImpl::copy_rows(const RowCopy& copy, std::optional<std::uintptr_t> stream) {
    Call call(*this);
    if (Status status = call.status(); !status.ok()) return {std::move(status)};
    Binding binding(*device_);
    if (Status status = binding.status(); !status.ok()) return {std::move(status)};
    auto order = order_of(stream);
    if (!order.ok()) return {order.take_status()};
    auto resolved = resolver_.resolve(copy, order.value(), false);
    if (!resolved.ok()) return {resolved.take_status()};
    const Resolver::RowTasks& tasks = resolved.value();
    if (tasks.launch != nullptr) {
        return Mover::with_progress(launch(*tasks.launch, order.value()), tasks.route, tasks.launch->bytes());
    }
    return mover_.perform(tasks.jobs, order.value());
}

Outcome SessionImpl::launch(RowLaunch& rows, const Order& order) {
    std::optional<StreamPool::Loan> loan;
    Stream* stream = order.stream;
    if (stream == nullptr) {
        auto borrowed = streams_.borrow();
        if (!borrowed.ok()) return {borrowed.take_status()};
        loan.emplace(std::move(borrowed.value()));
        stream = &loan->stream();
    }
    Status status = synchronized(rows.enqueue(*stream), *stream);
    if (status.ok()) status = rows.verdict();
    return ended(std::move(status), {}, rows.bytes());
}

Result<std::shared_ptr<CopyHandle>> SessionImpl::copy_rows_async(const RowCopy& copy,
                                                                 std::optional<std::uintptr_t> stream,
                                                                 std::shared_ptr<const void> keep) {
    Call call(*this);
    ISTHMUS_TRY(call.status());
    Binding binding(*device_);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(order, order_of(stream));
    ISTHMUS_TRY_ASSIGN(tasks, resolver_.resolve(copy, order, false));
    if (tasks.launch != nullptr) return starter_.begin(std::move(tasks.launch), order, std::move(keep), in_use());
    return starter_.begin(tasks.jobs, order, std::move(keep), in_use());
}

Result<Explanation> SessionImpl::explain_rows(const RowCopy& copy) {
    Call call(*this);
    ISTHMUS_TRY(call.status());
    Binding binding(*device_);
    ISTHMUS_TRY(binding.status());
    // Lists on the device are read when all that it has been given has ended.
    ISTHMUS_TRY_ASSIGN(order, order_of(std::nullopt));
    ISTHMUS_TRY_ASSIGN(tasks, resolver_.resolve(copy, order, true));
    if (tasks.jobs.empty()) return Chooser::nothing("no row has a byte");
    return chooser_.explain(tasks.jobs, "groups of layers");
}

}  // namespace isthmus
