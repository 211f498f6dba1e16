// Memory, streams and threads through which pieces are packed; made once, and used by one transfer at a time.
#include "transfer/staging.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace isthmus {

Result<std::shared_ptr<Staging>> Staging::create(std::shared_ptr<Device> device, std::size_t bytes, std::size_t threads,
                                                 std::size_t pieces) {
    if (threads == 0) return Status(Code::invalid_argument, "staging takes a thread at least");
    Device& gpu = *device;
    ISTHMUS_TRY(gpu.bind_thread());
    std::shared_ptr<Staging> staging(new Staging(std::move(device), threads));
    const std::size_t most_bytes = std::max(bytes, threads * slots * most_chunk_bytes);
    // Offsets for both sides.
    const std::size_t table_bytes = std::max<std::size_t>(2 * pieces, 1) * sizeof(std::uint64_t);
    for (const auto& [memory, kind, size] :
         {std::tuple(&staging->host_, MemoryKind::pinned, most_bytes),
          std::tuple(&staging->on_device_, MemoryKind::device, most_bytes),
          std::tuple(&staging->offsets_, MemoryKind::pinned, table_bytes),
          std::tuple(&staging->offsets_on_device_, MemoryKind::device, table_bytes)}) {
        ISTHMUS_TRY_ASSIGN(allocated, gpu.allocate(kind, size));
        *memory = std::move(allocated);
    }
    for (std::size_t i = 0; i < threads * slots + 1; ++i) {
        ISTHMUS_TRY_ASSIGN(stream, gpu.create_stream());
        staging->streams_.push_back(std::move(stream));
    }
    ISTHMUS_TRY_ASSIGN(workers, WorkerGroup::start(threads - 1));
    staging->workers_ = std::move(workers);
    return staging;
}

Status Staging::run(const WorkerGroup::Job& job, const WorkerGroup::Limit& limit) {
    return workers_->run_beside(
        [job](std::size_t worker, const std::atomic<bool>& stop) { return job(worker + 1, stop); },
        [job](const std::atomic<bool>& stop) { return job(0, stop); }, limit);
}

Result<Region> Staging::send_offsets(Stream& stream, const Layout& destination, const Layout& source) {
    std::size_t bytes = 0;
    for (const Layout* layout : {&destination, &source}) {
        if (layout->offsets.empty()) continue;
        std::memcpy(offsets_->host() + bytes, layout->offsets.data(), layout->offsets.size_bytes());
        bytes += layout->offsets.size_bytes();
    }
    if (bytes == 0) return Region{};
    const Region table{offsets_on_device_.get(), 0, bytes};
    ISTHMUS_TRY(device_->copy(stream, table, {offsets_.get(), 0, bytes}));
    return table;
}

Status Staging::check(const Extent& extent, const Layout& destination, const Layout& source) const {
    const std::size_t offsets = destination.offsets.size() + source.offsets.size();
    if (offsets * sizeof(std::uint64_t) > offsets_->bytes()) {
        return {Code::unsupported, std::to_string(extent.pieces()) + " pieces have more offsets than the " +
                                       std::to_string(offsets_->bytes() / sizeof(std::uint64_t)) + " that fit"};
    }
    if (extent.bytes() > host_->bytes()) {
        return {Code::unsupported, "the staging memory of " + std::to_string(host_->bytes()) + " bytes does not hold " +
                                       std::to_string(extent.bytes())};
    }
    return {};
}

}  // namespace isthmus
