// Memory, streams and threads through which pieces are packed; made once, and used by one transfer at a time.
#include "transfer/staging.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace isthmus {
namespace {

// Also what is checked comes through it.
constexpr std::size_t least_bytes = std::size_t{2} << 20;
// A transfer that has not ended in this time, and at this rate, is taken for stuck.
constexpr double limit_seconds = 20;
constexpr double slowest_bytes_per_second = 50e6;
// More than any machine has, and far from what overflows.
constexpr std::size_t most_threads = 4096;
constexpr std::size_t most_pieces = std::size_t{1} << 40;

}  // namespace

Result<std::shared_ptr<Staging>> Staging::create(std::shared_ptr<Device> device, std::size_t bytes, std::size_t threads,
                                                 std::size_t pieces) {
    if (threads == 0 || threads > most_threads || pieces > most_pieces) {
        return Status(Code::invalid_argument, "no staging with " + std::to_string(threads) + " threads for " +
                                                  std::to_string(pieces) + " pieces");
    }
    Device& gpu = *device;
    ISTHMUS_TRY(gpu.bind_thread());
    std::shared_ptr<Staging> staging(new Staging(std::move(device), threads));
    const std::size_t most_bytes = std::max(bytes, least_bytes);
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
    ISTHMUS_TRY_ASSIGN(stream, gpu.create_stream());
    staging->stream_ = std::move(stream);
    for (std::size_t i = 0; i < streams; ++i) {
        ISTHMUS_TRY_ASSIGN(one, gpu.create_stream());
        staging->streams_.push_back(std::move(one));
    }
    for (std::size_t i = 0; i < slots; ++i) {
        ISTHMUS_TRY_ASSIGN(event, gpu.create_event());
        staging->arrivals_.push_back(std::move(event));
    }
    ISTHMUS_TRY_ASSIGN(workers, WorkerGroup::start(threads));
    staging->workers_ = std::move(workers);
    return staging;
}

Status Staging::run(WorkerGroup::Job job, const WorkerGroup::Limit& limit) {
    Status status = workers_->run_with_caller(std::move(job), limit);
    if (status.code() == Code::timed_out) lost_ = status.message();
    return status;
}

WorkerGroup::Limit Staging::limit(std::size_t bytes, std::string doing) {
    return {limit_seconds + static_cast<double>(bytes) / slowest_bytes_per_second, std::move(doing)};
}

Status Staging::usable() const {
    return lost_.empty() ? Status() : Status(Code::call_failed, "the staging memory was lost: " + lost_);
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

Status Staging::check_offsets(const Layout& destination, const Layout& source) const {
    const std::size_t offsets = destination.offsets.size() + source.offsets.size();
    const std::size_t most = offsets_->bytes() / sizeof(std::uint64_t);
    if (offsets <= most) return {};
    return {Code::unsupported, std::to_string(std::max(destination.offsets.size(), source.offsets.size())) +
                                   " pieces have more offsets than the " + std::to_string(most) + " that fit"};
}

Status Staging::check_bytes(const Extent& extent) const {
    if (extent.bytes() <= host_->bytes()) return {};
    return {Code::unsupported, "the staging memory of " + std::to_string(host_->bytes()) + " bytes does not hold " +
                                   std::to_string(extent.bytes())};
}

}  // namespace isthmus
