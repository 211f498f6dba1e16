// The host backend: device memory is host memory, copies are real and asynchronous, and a model adds what is missing.
#include "backend/host/host_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "backend/borrowed.hpp"
#include "backend/device_info.hpp"
#include "backend/host/core.hpp"
#include "backend/host/directory.hpp"
#include "backend/host/kernels.hpp"
#include "backend/host/memory.hpp"
#include "backend/host/stream.hpp"
#include "backend/launch.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::host {
namespace {

// The index of copy_pieces' parameter `unit`.
constexpr std::size_t copy_pieces_unit = 8;

// Sleeping is too coarse for microseconds and spinning wastes a core for seconds: sleep first, then spin.
void wait_until(TimePoint deadline) {
    constexpr auto margin = std::chrono::microseconds(200);
    if (deadline - now() > 2 * margin) std::this_thread::sleep_until(deadline - margin);
    while (now() < deadline) {
    }
}

TimePoint::duration duration_of(double seconds) {
    return std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(seconds));
}

// The pieces of one side, by address; outlives the layout, but not the table.
class Pieces {
  public:
    Pieces(const Layout& layout, const Extent& extent, const std::uint64_t* offsets)
        : start_(reinterpret_cast<std::uintptr_t>(layout.allocation->host()) + layout.offset),
          offsets_(layout.is_scattered() ? offsets : nullptr),
          rows_(extent.rows),
          pitch_(layout.pitch_bytes),
          slice_pitch_(layout.slice_pitch_bytes) {}
    // As a number until here, since a layout may count from before its allocation.
    std::byte* at(std::size_t piece) const {
        const std::size_t offset =
            offsets_ != nullptr ? offsets_[piece] : piece / rows_ * slice_pitch_ + piece % rows_ * pitch_;
        return reinterpret_cast<std::byte*>(start_ + offset);  // NOLINT(performance-no-int-to-ptr)
    }

  private:
    std::uintptr_t start_;
    const std::uint64_t* offsets_;
    std::size_t rows_, pitch_, slice_pitch_;
};

class HostDevice final : public Device {
  public:
    explicit HostDevice(Model model) : core_(std::make_shared<Core>(std::move(model))) {
        info_ = list_devices().devices.front();
        info_.memory_bytes = core_->model.device_bytes;
    }

    const DeviceInfo& info() const override { return info_; }
    LinkReading read_link() override { return {}; }
    Result<std::size_t> free_bytes() override {
        const std::size_t used = core_->device_bytes_used;
        return core_->model.device_bytes - std::min(used, core_->model.device_bytes);
    }
    std::optional<std::string> why_not(MemoryKind) const override { return std::nullopt; }
    std::optional<std::string> why_no_prefetch() const override {
        return "device memory is host memory: prefetching moves no pages";
    }
    std::optional<std::string> why_no_peer(const Device& other) const override {
        if (dynamic_cast<const HostDevice*>(&other) == nullptr) return "the other device is not a host device";
        return std::nullopt;
    }
    std::optional<std::string> why_no_peer_reach(const Device& other) const override { return why_no_peer(other); }
    std::optional<std::string> why_no_migration() const override {
        return "device memory is host memory: no page moves";
    }
    std::optional<std::string> why_no_advice() const override {
        return "device memory is host memory: advice would change nothing";
    }
    std::optional<std::string> why_no_reach(MemoryKind) const override { return std::nullopt; }
    bool copy_blocks(MemoryKind) const override { return false; }

    Result<std::unique_ptr<Allocation>> reserve(MemoryKind kind, std::size_t bytes, std::byte* pages) override {
        return host::reserve(core_, kind, bytes, pages);
    }
    bool allocates_late(MemoryKind kind) const override { return !is_registered(kind); }

    Result<std::unique_ptr<Stream>> create_stream() override {
        if (const auto fault = core_->meet("stream"); fails(fault)) return injected(*fault, "stream", 0);
        return stream_on(Worker::start());
    }
    Result<std::unique_ptr<Event>> create_event() override {
        if (const auto fault = core_->meet("event"); fails(fault)) return injected(*fault, "event", 0);
        return std::unique_ptr<Event>(std::make_unique<HostEvent>());
    }
    Result<std::unique_ptr<Gate>> close_gate(std::span<Stream* const> streams) override {
        if (const auto fault = core_->meet("gate"); fails(fault)) return injected(*fault, "gate", 0);
        auto gate = std::make_unique<HostGate>();
        for (Stream* stream : streams) gate->close(worker_of(*stream));
        return std::unique_ptr<Gate>(std::move(gate));
    }
    Status bind_thread() override { return {}; }

    bool refuses_overruns() const override { return false; }
    Result<KnownMemory> identify(std::uintptr_t address) override {
        if (const auto fault = core_->meet("identify"); fails(fault)) return injected(*fault, "identify", 0);
        return Directory::get().find(address);
    }
    Result<std::unique_ptr<Allocation>> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes,
                                               std::uintptr_t) override {
        if (const auto fault = core_->meet("borrow"); fails(fault)) return injected(*fault, "borrow", bytes);
        ISTHMUS_TRY(check_borrowed(kind, address));
        return host::borrow(kind, address, bytes);
    }
    Result<std::unique_ptr<Stream>> borrow_stream(std::uintptr_t handle) override {
        if (handle == 0) return stream_on(core_->default_worker());
        auto worker = Directory::get().find_stream(handle);
        if (worker == nullptr) return invalid("no stream of the host backend has this handle");
        return std::unique_ptr<Stream>(std::make_unique<HostStream>(core_, std::move(worker)));
    }
    Status wait(Stream& stream, Event& event) override {
        if (const auto fault = core_->meet("wait"); fails(fault)) return injected(*fault, "wait", 0);
        const auto moment = static_cast<HostEvent&>(event).moment;
        worker_of(stream).enqueue([moment, record = moment->last_record()] {
            moment->wait(record);
            return Status();
        });
        return {};
    }
    std::optional<std::string> why_no_rendezvous() const override { return std::nullopt; }
    Result<std::unique_ptr<Rendezvous>> create_rendezvous() override {
        if (const auto fault = core_->meet("latch"); fails(fault)) return injected(*fault, "latch", 0);
        return std::unique_ptr<Rendezvous>(std::make_unique<HostRendezvous>());
    }

    Status begin_host_access(Allocation&) override { return {}; }
    Status end_host_access(Allocation&) override { return {}; }

    Status copy(Stream& stream, Region destination, Region source) override {
        return transfer(stream, destination, source, "copy");
    }
    Status copy_section(Stream& stream, const Layout& destination, const Layout& source,
                        const Extent& extent) override {
        ISTHMUS_TRY_ASSIGN(section, section_of(destination, source, extent));
        return copy_each(stream, section.destination, section.source, section.extent, "section");
    }
    Status launch(Stream& stream, KernelId kernel, std::span<const KernelArgument> arguments,
                  std::uint32_t /*most_blocks*/) override {
        const KernelRow& row = row_of(kernel);
        const bool moves = kernel == KernelId::copy || kernel == KernelId::copy_pieces;
        std::size_t bytes = arguments.empty() ? 0 : arguments.front().region.bytes;
        if (kernel == KernelId::copy_pieces) bytes = arguments[row.counted].bits * arguments[copy_pieces_unit].bits;
        // Each hop takes the model's latency.
        const double hops = kernel == KernelId::chase ? static_cast<double>(arguments[row.counted].bits) : 0;
        const double seconds = hops * core_->model.latency_seconds;
        // A fault that leaves half of the bytes undone leaves half of what is counted.
        const auto run = [kernel, bytes, seconds, counted = row.counted,
                          kept = std::vector(arguments.begin(), arguments.end())](std::size_t left) {
            const TimePoint start = now();
            std::vector<KernelArgument> given = kept;
            if (left < bytes) given[counted].bits /= 2;
            run_kernel(kernel, given);
            wait_until(start + duration_of(seconds));
        };
        if (!moves) return enqueue(stream, row.operation, bytes, run);
        return transfer(stream, bytes, is_on_device(arguments.front().region.allocation->kind()), row.operation, run);
    }
    std::optional<std::string> why_no_batch() const override { return std::nullopt; }
    std::optional<std::string> why_no_graph() const override { return std::nullopt; }
    Result<std::unique_ptr<PreparedCopies>> prepare_batch(const Layout& destination, const Layout& source,
                                                          const Extent& extent) override {
        return prepare(destination, source, extent, "batch");
    }
    Result<std::unique_ptr<PreparedCopies>> prepare_graph(const Layout& destination, const Layout& source,
                                                          const Extent& extent) override {
        return prepare(destination, source, extent, "graph");
    }
    Status prefetch(Stream&, Region region, Side) override {
        if (const auto fault = core_->meet("prefetch"); fails(fault)) return injected(*fault, "prefetch", region.bytes);
        return unsupported(*why_no_prefetch());
    }

    Status advise(Allocation&, Advice, bool) override { return unsupported(*why_no_advice()); }

    Status set_bytes(Stream& stream, Region region, std::uint8_t value) override {
        return enqueue(stream, "set", region.bytes,
                       [at = region.host(), value](std::size_t bytes) { std::memset(at, value, bytes); });
    }
    Result<Mismatch> verify_pattern(Stream& stream, Region region, std::uint64_t seed) override {
        Mismatch total;
        for (std::size_t at = 0; at < region.bytes; at += max_region_bytes) {
            const std::size_t bytes = std::min<std::size_t>(max_region_bytes, region.bytes - at);
            VerifyResult part;
            const auto result = host::borrow(MemoryKind::device, reinterpret_cast<std::uintptr_t>(&part), sizeof part);
            ISTHMUS_TRY(isthmus::launch(*this, stream, kernel::verify, {region.allocation, region.offset + at, bytes},
                                        bytes, seed, at / 8, {result.get(), 0, sizeof part}));
            ISTHMUS_TRY(stream.synchronize());
            if (part.words != 0) total = total + Mismatch{part.words, at / 8 + part.first_word};
        }
        return total;
    }
    Status record(Event& event, Stream& stream) override {
        const auto moment = static_cast<HostEvent&>(event).moment;
        const std::shared_ptr<Worker>& worker = static_cast<HostStream&>(stream).worker();
        worker->enqueue([moment, record = moment->record(), at = worker.get(), mine = std::weak_ptr(worker)] {
            moment->pass(record, at->failure(), mine);
            return Status();
        });
        return {};
    }
    Result<bool> has_passed(Event& event) override { return static_cast<HostEvent&>(event).moment->has_passed(); }
    Result<double> seconds_between(Event& start, Event& stop) override {
        return isthmus::seconds_between(static_cast<HostEvent&>(start).moment->time(),
                                        static_cast<HostEvent&>(stop).moment->time());
    }

  private:
    static Worker& worker_of(Stream& stream) { return *static_cast<HostStream&>(stream).worker(); }

    Result<std::unique_ptr<Stream>> stream_on(std::shared_ptr<Worker> worker) {
        if (worker == nullptr) {
            return Status(Code::call_failed,
                          "no thread for a stream: the limit on threads (ulimit -u, pids.max) is reached");
        }
        Directory::get().add(worker);
        return std::unique_ptr<Stream>(std::make_unique<HostStream>(core_, std::move(worker)));
    }

    // Enqueues `work` on the bytes that the operation's fault leaves.
    Status enqueue(Stream& stream, const std::string& operation, std::size_t bytes,
                   std::function<void(std::size_t)> work) {
        const auto fault = core_->meet(operation);
        if (fails(fault)) return injected(*fault, operation, bytes);
        worker_of(stream).enqueue([work = std::move(work), bytes, fault] {
            work(fault == FaultKind::partial ? bytes / 2 : bytes);
            if (fault == FaultKind::slow) std::this_thread::sleep_for(std::chrono::milliseconds(100));
            if (fault == FaultKind::hang) std::this_thread::sleep_for(std::chrono::seconds(2));
            return Status();
        });
        return {};
    }

    Status transfer(Stream& stream, Region destination, Region source, const std::string& operation) {
        return transfer(
            stream, destination.bytes, is_on_device(destination.allocation->kind()), operation,
            [to = destination.host(), from = source.host()](std::size_t bytes) { std::memcpy(to, from, bytes); });
    }

    // The same for a `move` that copies the first bytes of what it is to copy.
    Status transfer(Stream& stream, std::size_t whole, bool to_device, const std::string& operation,
                    std::function<void(std::size_t)> move) {
        const double rate = to_device ? core_->model.h2d_bytes_per_second : core_->model.d2h_bytes_per_second;
        return enqueue(
            stream, operation, whole, [core = core_, move = std::move(move), rate, to_device](std::size_t bytes) {
                std::unique_lock lock(core->engines[to_device ? 0 : 1], std::defer_lock);
                if (rate > 0) lock.lock();
                const TimePoint start = now();
                move(bytes);
                const double seconds = core->model.latency_seconds + (rate > 0 ? static_cast<double>(bytes) / rate : 0);
                if (seconds > 0) wait_until(start + duration_of(seconds));
            });
    }

    // One command that copies the pieces one after the other.
    Status copy_each(Stream& stream, const Layout& destination, const Layout& source, const Extent& extent,
                     const std::string& operation) {
        return transfer(stream, extent.bytes(), is_on_device(destination.allocation->kind()), operation,
                        [to = Pieces(destination, extent, destination.offsets.data()),
                         from = Pieces(source, extent, source.offsets.data()), extent](std::size_t bytes) {
                            for (std::size_t i = 0; i < bytes / extent.width_bytes; ++i) {
                                std::memcpy(to.at(i), from.at(i), extent.width_bytes);
                            }
                        });
    }

    class Prepared final : public PreparedCopies {
      public:
        Prepared(HostDevice& device, const Layout& destination, const Layout& source, const Extent& extent,
                 std::string operation)
            : device_(device),
              destination_(destination),
              source_(source),
              extent_(extent),
              destination_offsets_(destination.offsets.begin(), destination.offsets.end()),
              source_offsets_(source.offsets.begin(), source.offsets.end()),
              operation_(std::move(operation)) {
            destination_.offsets = destination_offsets_;
            source_.offsets = source_offsets_;
        }
        Status enqueue(Stream& stream) override {
            return device_.copy_each(stream, destination_, source_, extent_, operation_);
        }

      private:
        HostDevice& device_;
        Layout destination_;
        Layout source_;
        Extent extent_;
        std::vector<std::uint64_t> destination_offsets_;
        std::vector<std::uint64_t> source_offsets_;
        std::string operation_;
    };
    Result<std::unique_ptr<PreparedCopies>> prepare(const Layout& destination, const Layout& source,
                                                    const Extent& extent, const std::string& operation) {
        if (const auto fault = core_->meet("prepare"); fails(fault)) return injected(*fault, "prepare", extent.bytes());
        return std::unique_ptr<PreparedCopies>(
            std::make_unique<Prepared>(*this, destination, source, extent, operation));
    }

    std::shared_ptr<Core> core_;
    DeviceInfo info_;
};

}  // namespace

BackendListing list_devices() {
    DeviceInfo info;
    info.backend = "host";
    info.name = "this machine's memory";
    info.vendor = "Isthmus";
    info.shares_host_memory = true;
    return {"host", {info}, "", {}, ""};
}

std::shared_ptr<Device> open_device(Model model) {
    return std::make_shared<HostDevice>(std::move(model));
}

}  // namespace isthmus::host
