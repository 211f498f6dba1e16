// The host backend: device memory is host memory, copies are real and asynchronous, and a model adds what is missing.
#include "backend/host/host_device.hpp"

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "backend/borrowed.hpp"
#include "backend/host/core.hpp"
#include "backend/host/directory.hpp"
#include "backend/host/memory.hpp"
#include "backend/host/pieces.hpp"
#include "backend/host/stream.hpp"

namespace isthmus::host {
namespace {

// Sleeping is too coarse for microseconds and spinning wastes a core for seconds: sleep first, then spin.
void wait_until(TimePoint deadline) {
    constexpr auto margin = std::chrono::microseconds(200);
    if (deadline - now() > 2 * margin) std::this_thread::sleep_until(deadline - margin);
    while (now() < deadline) {
    }
}

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
        if (worker == nullptr) return Status(Code::invalid_argument, "no stream of the host backend has this handle");
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
    Status copy_by_kernel(Stream& stream, Region destination, Region source) override {
        return transfer(stream, destination, source, "kernel");
    }
    Status copy_section(Stream& stream, const Layout& destination, const Layout& source,
                        const Extent& extent) override {
        ISTHMUS_TRY_ASSIGN(section, section_of(destination, source, extent));
        return copy_each(stream, section.destination, section.source, section.extent, "section");
    }
    Status copy_pieces(Stream& stream, const Layout& destination, const Layout& source, const Extent& extent,
                       const Units& units, Region table) override {
        const auto* offsets =
            table.allocation != nullptr ? reinterpret_cast<const std::uint64_t*>(table.host()) : nullptr;
        Pieces to(destination, extent, offsets);
        Pieces from(source, extent,
                    offsets != nullptr && destination.is_scattered() ? offsets + extent.pieces() : offsets);
        return transfer(stream, units.count * units.bytes, is_on_device(destination.allocation->kind()), "pieces",
                        [to, from, first = units.first * units.bytes, width = extent.width_bytes](std::size_t bytes) {
                            for (std::size_t at = first; at < first + bytes;) {
                                const std::size_t within = at % width;
                                const std::size_t run = std::min(width - within, first + bytes - at);
                                std::memcpy(to.at(at / width) + within, from.at(at / width) + within, run);
                                at += run;
                            }
                        });
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
        return {Code::unsupported, *why_no_prefetch()};
    }

    Status advise(Allocation&, Advice, bool) override { return {Code::unsupported, *why_no_advice()}; }

    Status set_bytes(Stream& stream, Region region, std::uint8_t value) override {
        return enqueue(stream, "set", region.bytes,
                       [at = region.host(), value](std::size_t bytes) { std::memset(at, value, bytes); });
    }
    Status add(Stream& stream, Region region, std::uint32_t value) override {
        return enqueue(stream, "add", region.bytes, [at = region.host(), value](std::size_t bytes) {
            auto* words = reinterpret_cast<std::uint32_t*>(at);
            for (std::size_t i = 0; i < bytes / sizeof *words; ++i) words[i] += value;
        });
    }
    Status sum(Stream& stream, Region region, Region result) override {
        return enqueue(stream, "sum", region.bytes, [from = region.host(), to = result.host()](std::size_t bytes) {
            const auto* words = reinterpret_cast<const std::uint32_t*>(from);
            *reinterpret_cast<std::uint32_t*>(to) =
                std::accumulate(words, words + bytes / sizeof *words, std::uint32_t{0});
        });
    }
    Status work(Stream& stream, Region region, std::uint32_t rounds) override {
        return enqueue(stream, "work", region.bytes, [at = region.host(), rounds](std::size_t bytes) {
            auto* words = reinterpret_cast<std::uint32_t*>(at);
            for (std::size_t i = 0; i < bytes / sizeof *words; ++i) {
                for (std::uint32_t round = 0; round < rounds; ++round) words[i] = words[i] * 1664525U + 1013904223U;
            }
        });
    }
    Status touch_in_turn(Stream& stream, Region region, std::size_t stride_bytes) override {
        return enqueue(stream, "touch", region.bytes, [at = region.host(), stride_bytes](std::size_t bytes) {
            for (std::size_t i = 0; i < bytes; i += stride_bytes) ++*reinterpret_cast<std::uint32_t*>(at + i);
        });
    }
    Status add_doubles(Stream& stream, Region region, std::size_t stride_bytes, double value) override {
        return enqueue(stream, "doubles", region.bytes, [at = region.host(), stride_bytes, value](std::size_t bytes) {
            for (std::size_t i = 0; i < bytes; i += stride_bytes) *reinterpret_cast<double*>(at + i) += value;
        });
    }
    Status fill_ramp(Stream& stream, Region region, Tile tile, std::size_t first_column, std::size_t side) override {
        return enqueue(stream, "ramp", region.bytes,
                       [at = region.host(), columns = tile.columns, first_column, side](std::size_t bytes) {
                           auto* points = reinterpret_cast<double*>(at);
                           for (std::size_t i = 0; i < bytes / sizeof *points; ++i) {
                               const std::size_t value = i / columns + (first_column + i % columns) % side;
                               points[i] = static_cast<double>(value % 3343);
                           }
                       });
    }
    Status laplacian(Stream& stream, Region destination, Region source, Tile tile, std::size_t halo) override {
        return enqueue(stream, "laplacian", destination.bytes,
                       [to = destination.host(), from = source.host(), tile, halo](std::size_t bytes) {
                           auto* results = reinterpret_cast<double*>(to);
                           const auto* points = reinterpret_cast<const double*>(from);
                           for (std::size_t i = 0; i < bytes / sizeof(double) / tile.columns; ++i) {
                               const double* up = points + (i == 0 ? tile.rows - 1 : i - 1) * tile.columns;
                               const double* down = points + (i == tile.rows - 1 ? 0 : i + 1) * tile.columns;
                               const double* here = points + i * tile.columns;
                               for (std::size_t j = halo; j < tile.columns - halo; ++j) {
                                   results[i * tile.columns + j] = (up[j] + down[j] + here[j - 1] + here[j + 1]) * 0.25;
                               }
                           }
                       });
    }
    Status fill_pattern(Stream& stream, Region region, std::uint64_t seed) override {
        return enqueue(stream, "fill", region.bytes,
                       [at = region.host(), seed](std::size_t bytes) { isthmus::fill_pattern(at, bytes, seed); });
    }
    Result<Mismatch> verify_pattern(Stream& stream, Region region, std::uint64_t seed) override {
        auto found = std::make_shared<Mismatch>();
        ISTHMUS_TRY(enqueue(stream, "verify", region.bytes, [at = region.host(), seed, found](std::size_t bytes) {
            *found = isthmus::verify_pattern(at, bytes, seed);
        }));
        ISTHMUS_TRY(stream.synchronize());
        return *found;
    }
    Status record(Event& event, Stream& stream) override {
        const auto moment = static_cast<HostEvent&>(event).moment;
        worker_of(stream).enqueue([moment, record = moment->record()] {
            moment->pass(record);
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
                if (seconds > 0) {
                    wait_until(start +
                               std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(seconds)));
                }
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
        if (const auto fault = core_->meet("prepare"); fails(fault)) {
            return injected(*fault, "prepare", extent.bytes());
        }
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
