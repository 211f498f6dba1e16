// Memory, streams and threads through which pieces are packed; made once, and used by one transfer at a time.
#include "transfer/pieces/staging.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "transfer/pinned/page_locked.hpp"

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

// Offsets for both sides.
std::size_t table_bytes(std::size_t pieces) {
    return std::max<std::size_t>(2 * pieces, 1) * sizeof(std::uint64_t);
}

}  // namespace

Result<std::shared_ptr<Staging>> Staging::create(std::shared_ptr<Device> device, std::size_t bytes, std::size_t threads,
                                                 std::size_t pieces, const KernelBlocks& blocks) {
    ISTHMUS_TRY(device->bind_thread());
    ISTHMUS_TRY_ASSIGN(staging, create(std::move(device), {std::max(bytes, least_bytes), pieces, threads, blocks, {}}));
    ISTHMUS_TRY(staging->need_device_memory());
    ISTHMUS_TRY(staging->need_offsets_on_device());
    ISTHMUS_TRY(staging->need_threads());
    return staging;
}

std::size_t Staging::pinned_bytes(const Options& options) {
    return options.bytes + table_bytes(options.pieces);
}

Result<std::shared_ptr<Staging>> Staging::create(std::shared_ptr<Device> device, Options options) {
    if (options.threads == 0 || options.threads > most_threads || options.pieces > most_pieces) {
        return invalid("no staging with " + std::to_string(options.threads) + " threads for " +
                       std::to_string(options.pieces) + " pieces");
    }
    Device& gpu = *device;
    std::shared_ptr<Staging> staging(new Staging(std::move(device), std::move(options)));
    ISTHMUS_TRY(assign(staging->host_, page_locked(gpu, {}, staging->options_.bytes, AfterFork::parent)));
    ISTHMUS_TRY(
        assign(staging->offsets_, page_locked(gpu, {}, table_bytes(staging->options_.pieces), AfterFork::parent)));
    for (std::unique_ptr<Stream>* stream : {&staging->stream_, &staging->copies_, &staging->kernels_}) {
        ISTHMUS_TRY(assign(*stream, gpu.create_stream()));
    }
    for (std::vector<std::unique_ptr<Event>>* events : {&staging->halfway_, &staging->arrivals_}) {
        for (std::size_t i = 0; i < Ring::most_divided_slots; ++i) {
            ISTHMUS_TRY_ASSIGN(event, gpu.create_untimed_event());
            events->push_back(std::move(event));
        }
    }
    return staging;
}

Status Staging::need_device_memory() {
    if (on_device_ != nullptr) return {};
    return assign(on_device_, device_->hold(MemoryKind::device, host_->bytes()));
}

Status Staging::need_offsets_on_device() {
    if (offsets_on_device_ != nullptr) return {};
    return assign(offsets_on_device_, device_->hold(MemoryKind::device, offsets_->bytes()));
}

Status Staging::need_threads() {
    if (workers_ != nullptr) return {};
    return assign(workers_, WorkerGroup::start(options_.threads, options_.group));
}

Status Staging::run(WorkerGroup::Job job, const WorkerGroup::Limit& limit, std::size_t threads) {
    Status status = workers_->run_with_caller(std::move(job), limit, threads);
    if (status.code() == Code::timed_out) lost_ = status.copy();
    return status;
}

WorkerGroup::Limit Staging::limit(std::size_t bytes, std::string doing) {
    return {limit_seconds + static_cast<double>(bytes) / slowest_bytes_per_second, std::move(doing)};
}

Status Staging::usable() const {
    return lost_.ok() ? Status() : Status(Code::call_failed, "the staging memory was lost: " + lost_.message());
}

Result<Region> Staging::send_offsets(Stream& stream, const Layout& destination, const Layout& source,
                                     std::size_t table_byte) {
    std::size_t bytes = 0;
    for (const Layout* layout : {&destination, &source}) {
        if (layout->offsets.empty()) continue;
        std::memcpy(offsets_->host() + table_byte + bytes, layout->offsets.data(), layout->offsets.size_bytes());
        bytes += layout->offsets.size_bytes();
    }
    if (bytes == 0) return Region{};
    const Region table{offsets_on_device_.get(), table_byte, bytes};
    ISTHMUS_TRY(device_->copy(stream, table, {offsets_.get(), table_byte, bytes}));
    return table;
}

Status Staging::check_offsets(const Layout& destination, const Layout& source) {
    const std::size_t offsets = destination.offsets.size() + source.offsets.size();
    if (offsets != 0) ISTHMUS_TRY(need_offsets_on_device());
    const std::size_t most = offsets_->bytes() / sizeof(std::uint64_t);
    if (offsets <= most) return {};
    return unsupported(std::to_string(std::max(destination.offsets.size(), source.offsets.size())) +
                       " pieces have more offsets than the " + std::to_string(most) + " that fit");
}

Status Staging::check_bytes(const Extent& extent) const {
    if (extent.bytes() <= host_->bytes()) return {};
    return unsupported("the staging memory of " + std::to_string(host_->bytes()) + " bytes does not hold " +
                       std::to_string(extent.bytes()));
}

}  // namespace isthmus
