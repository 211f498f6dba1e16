// Copies from files: read by threads into page-locked chunks that cross the link meanwhile.
#include <algorithm>
#include <memory>
#include <utility>

#include "backend/device.hpp"
#include "transfer/copy/outcome.hpp"
#include "transfer/session/mover.hpp"

namespace isthmus {
namespace {

// Less than this is read sooner than threads wake.
constexpr std::size_t least_threaded_bytes = std::size_t{256} << 10;
constexpr std::size_t read_bytes = std::size_t{1} << 20;

}  // namespace

Outcome Mover::read(const std::shared_ptr<CopyJob>& job, const Order& order) {
    ISTHMUS_TRY(order.wait());
    const std::size_t bytes = job->extent.bytes();
    if (job->ends.route == Route::h2h) return with_progress(read_on_host(*job), Route::h2h, bytes);
    if (bytes >= least_threaded_bytes && lane(true).has_room()) {
        Outcome outcome = read_through_lane(job);
        if (!leaves_to_others(outcome)) return with_progress(std::move(outcome), Route::h2d, bytes);
    }
    return with_progress(read_in_parts(*job, order), Route::h2d, bytes);
}

Outcome Mover::read_through_lane(const std::shared_ptr<CopyJob>& job) {
    // In chunks as from pageable memory, but by all threads: the system's copy takes each of them longer. Past the
    // caches 14 bring 46 to 48 GB/s over an H200's link of 54, and 12 bring 42 to 45. What they read into the ring and
    // demote comes at 42 to 46, and what stays in their own caches at 25 to 51.
    Packing packing = chooser_.packing(true, 0);
    packing.chunk_bytes = chooser_.choose_buffer(job->ends, job->extent.bytes()).packing.chunk_bytes;
    return through_lane(job, PieceMethod::pack_threads, packing);
}

Outcome Mover::read_on_host(const CopyJob& job) {
    Allocation& memory = *job.destination.allocation;
    ISTHMUS_TRY(device_.begin_host_access(memory));
    const std::size_t bytes = job.extent.bytes();
    std::size_t at = 0;
    Status status;
    while (status.ok() && at < bytes) {
        const std::size_t some = std::min(read_bytes, bytes - at);
        status = job.file->read(memory.host() + job.destination.offset + at, at, some, Stores::ordinary);
        if (status.ok()) at += some;
    }
    Status closed = device_.end_host_access(memory);
    if (status.ok()) status = std::move(closed);
    return {std::move(status), at};
}

Outcome Mover::read_in_parts(const CopyJob& job, const Order& order) {
    const std::size_t bytes = job.extent.bytes();
    const std::size_t most = std::min(read_bytes, bytes);
    // Not touched before it is read into.
    const std::unique_ptr<std::byte[]> read(new std::byte[most]);  // NOLINT(cppcoreguidelines-avoid-c-arrays)
    ISTHMUS_TRY_ASSIGN(borrowed,
                       device_.borrow(MemoryKind::pageable, reinterpret_cast<std::uintptr_t>(read.get()), most));
    const Layout& to = job.destination;
    std::size_t at = 0;
    while (at < bytes) {
        const std::size_t some = std::min(most, bytes - at);
        if (Status status = job.file->read(read.get(), at, some, Stores::ordinary); !status.ok()) {
            return {std::move(status), at};
        }
        Outcome outcome = by_driver({to.allocation, to.offset + at, some}, {borrowed.get(), 0, some}, Cut::none, order);
        if (!outcome.status.ok()) return {std::move(outcome.status), at};
        at += some;
    }
    return {Status(), bytes};
}

}  // namespace isthmus
