// The CUDA backend: NVIDIA's driver API, opened at run time.
#include "backend/cuda/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "backend/cuda/context.hpp"
#include "backend/cuda/describe.hpp"
#include "backend/cuda/gate.hpp"
#include "backend/cuda/memory.hpp"
#include "backend/cuda/pieces.hpp"
#include "backend/cuda/rendezvous.hpp"
#include "backend/cuda/stream.hpp"
#include "backend/device_info.hpp"
#include "backend/launch.hpp"

namespace isthmus::cuda {
namespace {

using ContextPointer = std::shared_ptr<PrimaryContext>;

// A gate opens by itself after this long: a host that died must not leave the GPU spinning.
constexpr std::uint64_t gate_limit_nanoseconds = 2'000'000'000;

PrimaryContext& context_of(const Region& region) {
    return static_cast<const CudaAllocation&>(*region.allocation).context();
}

class CudaDevice final : public isthmus::Device {
  public:
    CudaDevice(const Driver& driver, ContextPointer context, DeviceInfo info, Features features, cuda::Device ordinal)
        : driver_(driver),
          context_(std::move(context)),
          info_(std::move(info)),
          features_(features),
          ordinal_(ordinal) {}

    const DeviceInfo& info() const override { return info_; }
    LinkReading read_link() override {
        return driver_.api.usable().ok() ? cuda::read_link(driver_, info_.pci_address) : LinkReading();
    }

    Result<std::size_t> free_bytes() override {
        std::size_t free = 0;
        std::size_t total = 0;
        ISTHMUS_TRY(cu().call(cu().cuMemGetInfo, &free, &total));
        return free;
    }

    std::optional<std::string> why_not(MemoryKind kind) const override {
        if (kind == MemoryKind::mapped && !features_.maps_host_memory) return "the device cannot map host memory";
        if (is_registered(kind) && !features_.registers_host_memory) return "the device cannot register host memory";
        if (kind == MemoryKind::managed && !features_.managed) return "the device has no managed memory";
        if (kind == MemoryKind::device_pool || kind == MemoryKind::device_pool_cold) {
            if (!cu().cuMemAllocFromPoolAsync) return cu().cuMemAllocFromPoolAsync.absent().message();
            if (!features_.memory_pools) return "the device has no stream-ordered memory pools";
        }
        return std::nullopt;
    }

    std::optional<std::string> why_no_migration() const override {
        if (auto reason = why_not(MemoryKind::managed)) return reason;
        if (features_.concurrent_managed) return std::nullopt;
        return "the device cannot migrate managed memory on demand (concurrentManagedAccess is 0)";
    }
    std::optional<std::string> why_no_advice() const override {
        if (auto reason = why_no_migration()) return *reason + ", so it takes no advice";
        if (!cu().cuMemAdvise) return cu().cuMemAdvise.absent().message();
        return std::nullopt;
    }
    std::optional<std::string> why_no_prefetch() const override {
        if (!features_.concurrent_managed) return *why_no_migration() + ", so it cannot prefetch";
        if (!cu().cuMemPrefetchAsync) return cu().cuMemPrefetchAsync.absent().message();
        return std::nullopt;
    }

    std::optional<std::string> why_no_peer(const isthmus::Device& other) const override {
        if (dynamic_cast<const CudaDevice*>(&other) == nullptr) return "the other device is not a CUDA device";
        if (!cu().cuMemcpyPeerAsync) return cu().cuMemcpyPeerAsync.absent().message();
        return std::nullopt;
    }

    PeerReading read_peer(const isthmus::Device& other) const override {
        if (!driver_.api.usable().ok()) return {};
        return cuda::read_peer(driver_, info_.pci_address, other.info().pci_address);
    }

    Result<std::shared_ptr<isthmus::Device>> open_other(int index) const override { return open_device(index); }

    std::optional<std::string> why_no_peer_reach(const isthmus::Device& other) const override {
        const auto* const peer = dynamic_cast<const CudaDevice*>(&other);
        if (peer == nullptr) return "the other device is not a CUDA device";
        return context_->why_no_reach(*peer->context_);
    }

    std::optional<std::string> why_no_reach(MemoryKind kind) const override {
        if (kind == MemoryKind::device_array) return "kernels reach arrays through textures alone";
        if (!is_pageable(kind) || context_->reaches_pageable()) return std::nullopt;
        return "the device cannot reach ordinary memory of the system (pageableMemoryAccess is 0: neither HMM nor ATS)";
    }
    bool copy_blocks(MemoryKind kind) const override { return is_pageable(kind); }

    Result<std::unique_ptr<Allocation>> reserve(MemoryKind kind, std::size_t bytes, std::byte* pages) override {
        if (auto reason = why_not(kind)) return unsupported(*reason);
        return cuda::reserve(context_, kind, bytes, pages);
    }

    Result<std::unique_ptr<isthmus::Stream>> create_stream() override {
        cuda::Stream stream = nullptr;
        ISTHMUS_TRY(cu().call(cu().cuStreamCreate, &stream, stream_non_blocking));
        return own(stream);
    }
    Result<std::unique_ptr<isthmus::Event>> create_event() override { return create_event(event_default); }
    Result<std::unique_ptr<isthmus::Event>> create_untimed_event() override {
        return create_event(event_disable_timing);
    }

    Result<std::unique_ptr<Gate>> close_gate(std::span<isthmus::Stream* const> streams) override {
        ISTHMUS_TRY_ASSIGN(spin, context_->spin());
        ISTHMUS_TRY_ASSIGN(words, gate_words());
        const GateWords::Slot slot = words->next();
        auto gate = std::make_unique<CudaGate>(words, slot);
        for (isthmus::Stream* stream : streams) {
            std::array<std::uint64_t, 5> parameters{slot.flag_address, 0, gate_limit_nanoseconds,
                                                    slot.timed_out_address, 0};
            ISTHMUS_TRY(start(spin, {1, 1}, raw(*stream), parameters));
        }
        return std::unique_ptr<Gate>(std::move(gate));
    }

    Status bind_thread() override { return context_->make_current(); }
    Result<Before> enter() override { return context_->enter(); }
    void leave(Before before) noexcept override { context_->leave(before); }
    std::uintptr_t context_handle() const override { return reinterpret_cast<std::uintptr_t>(context_->get()); }

    Result<KnownMemory> identify(std::uintptr_t address) override { return cuda::identify(*context_, address); }
    bool is_mapped(std::uintptr_t address) override { return cuda::is_mapped(*context_, address); }
    Result<std::unique_ptr<Allocation>> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes,
                                               std::uintptr_t kernel_address) override {
        return cuda::borrow(context_, kind, address, bytes, kernel_address);
    }
    Result<std::unique_ptr<isthmus::Stream>> borrow_stream(std::uintptr_t handle) override {
        return cuda::borrow_stream(context_, handle);
    }
    Status wait(isthmus::Stream& stream, isthmus::Event& event) override {
        return cu().call(cu().cuStreamWaitEvent, raw(stream), raw(event), 0U);
    }
    std::optional<std::string> why_no_rendezvous() const override { return cuda::why_no_rendezvous(cu()); }
    Result<std::unique_ptr<Rendezvous>> create_rendezvous() override {
        if (auto reason = why_no_rendezvous()) return unsupported(*reason);
        ISTHMUS_TRY_ASSIGN(words, rendezvous_words());
        return words->take();
    }

    // Unified addresses: pinned memory is the host's at any time, and managed memory migrates when it is touched.
    Status begin_host_access(Allocation&) override { return {}; }
    Status end_host_access(Allocation&) override { return {}; }

    Status copy(isthmus::Stream& stream, Region destination, Region source) override {
        const bool to_device = is_on_device(destination.allocation->kind());
        const bool from_device = is_on_device(source.allocation->kind());
        if (to_device && from_device) {
            if (PrimaryContext& other = context_of(destination); !other.same(context_of(source))) {
                return context_of(source).copy_to_peer(other, address_of(destination), address_of(source), source.bytes,
                                                       raw(stream));
            }
            return cu().call(cu().cuMemcpyDtoDAsync, address_of(destination), address_of(source), source.bytes,
                             raw(stream));
        }
        if (to_device) {
            return cu().call(cu().cuMemcpyHtoDAsync, address_of(destination), static_cast<const void*>(source.host()),
                             source.bytes, raw(stream));
        }
        return cu().call(cu().cuMemcpyDtoHAsync, static_cast<void*>(destination.host()), address_of(source),
                         source.bytes, raw(stream));
    }

    Status copy_now(isthmus::Stream& stream, Side to, std::uintptr_t destination, std::uintptr_t source,
                    std::size_t bytes, MemoryKind host) override {
        auto* const there = reinterpret_cast<void*>(destination);  // NOLINT(performance-no-int-to-ptr)
        const auto* const here = reinterpret_cast<void*>(source);  // NOLINT(performance-no-int-to-ptr)
        // The driver's synchronous copies go by the legacy stream, and have arrived when they return, but for those
        // from pageable memory to the device: waiting for the stream would take as long again as all else that is ours.
        constexpr std::uintptr_t last_legacy = 1;
        const bool is_legacy = stream.handle() <= last_legacy;
        if (to == Side::host) {
            if (is_legacy) return cu().call(cu().cuMemcpyDtoH, there, DevicePointer{source}, bytes);
            return synchronized(cu().call(cu().cuMemcpyDtoHAsync, there, DevicePointer{source}, bytes, raw(stream)),
                                stream);
        }
        if (is_legacy && host == MemoryKind::pinned) {
            return cu().call(cu().cuMemcpyHtoD, DevicePointer{destination}, here, bytes);
        }
        return synchronized(cu().call(cu().cuMemcpyHtoDAsync, DevicePointer{destination}, here, bytes, raw(stream)),
                            stream);
    }

    Status copy_section(isthmus::Stream& stream, const Layout& destination, const Layout& source,
                        const Extent& extent) override {
        return cuda::copy_section(*context_, raw(stream), destination, source, extent);
    }

    bool has_kernels() override { return context_->has_kernels(); }
    Status load_kernels() override {
        Current current(*context_);
        return current.ok() ? context_->load_kernels() : current.status();
    }
    Status launch(isthmus::Stream& stream, KernelId kernel, std::span<const KernelArgument> arguments,
                  std::uint32_t most_blocks) override {
        ISTHMUS_TRY_ASSIGN(function, context_->kernel(kernel));
        std::array<std::uint64_t, most_kernel_parameters> parameters{};
        std::size_t count = 0;
        for (const KernelArgument& argument : arguments) {
            if (argument.type == KernelArgument::Type::region) {
                ISTHMUS_TRY_ASSIGN(address, reached(argument.region.allocation));
                parameters[count++] = address;
                parameters[count++] = argument.region.offset;
            } else {
                parameters[count++] = argument.bits;
            }
        }
        const Grid grid =
            grid_of(kernel, arguments, static_cast<std::uint32_t>(features_.multiprocessors), most_blocks);
        return start(function, grid, raw(stream), std::span(parameters).first(count));
    }

    std::optional<std::string> why_no_batch() const override { return cuda::why_no_batch(cu()); }
    std::optional<std::string> why_no_graph() const override { return cuda::why_no_graph(cu()); }
    Result<std::unique_ptr<PreparedCopies>> prepare_batch(const Layout& destination, const Layout& source,
                                                          const Extent& extent) override {
        return cuda::prepare_batch(context_, destination, source, extent);
    }
    Result<std::unique_ptr<PreparedCopies>> prepare_graph(const Layout& destination, const Layout& source,
                                                          const Extent& extent) override {
        ISTHMUS_TRY_ASSIGN(stream, create_stream());
        const std::size_t width = extent.width_bytes;
        return cuda::record_graph(context_, raw(*stream), [&]() -> Status {
            for (std::size_t i = 0; i < extent.pieces(); ++i) {
                ISTHMUS_TRY(copy(*stream, {destination.allocation, destination.at(i, extent), width},
                                 {source.allocation, source.at(i, extent), width}));
            }
            return {};
        });
    }

    Status prefetch(isthmus::Stream& stream, Region region, Side side) override {
        return cu().call(cu().cuMemPrefetchAsync, address_of(region), region.bytes,
                         side == Side::host ? device_cpu : ordinal_, raw(stream));
    }

    Status advise(Allocation& memory, Advice advice, bool given) override {
        constexpr std::array<std::array<int, 2>, 3> codes{{
            {advise_unset_read_mostly, advise_set_read_mostly},
            {advise_unset_preferred_location, advise_set_preferred_location},
            {advise_unset_accessed_by, advise_set_accessed_by},
        }};
        return cu().call(cu().cuMemAdvise, address_of({&memory, 0, 0}), memory.bytes(),
                         codes.at(static_cast<std::size_t>(advice))[given ? 1 : 0], ordinal_);
    }

    Status set_bytes(isthmus::Stream& stream, Region region, std::uint8_t value) override {
        return cu().call(cu().cuMemsetD8Async, address_of(region), value, region.bytes, raw(stream));
    }

    Result<Mismatch> verify_pattern(isthmus::Stream& stream, Region region, std::uint64_t seed) override {
        ISTHMUS_TRY_ASSIGN(result, static_cast<CudaStream&>(stream).result());
        Mismatch total;
        for (std::uint64_t at = 0; at < region.bytes; at += max_region_bytes) {
            const std::uint64_t bytes = std::min<std::uint64_t>(max_region_bytes, region.bytes - at);
            VerifyResult found;
            ISTHMUS_TRY(cu().call(cu().cuMemcpyHtoDAsync, address_of(result), static_cast<const void*>(&found),
                                  sizeof found, raw(stream)));
            ISTHMUS_TRY(isthmus::launch(*this, stream, kernel::verify, {region.allocation, region.offset + at, bytes},
                                        bytes, seed, at / 8, result));
            ISTHMUS_TRY(cu().call(cu().cuMemcpyDtoHAsync, static_cast<void*>(&found), address_of(result), sizeof found,
                                  raw(stream)));
            ISTHMUS_TRY(stream.synchronize());
            if (found.words != 0) total = total + Mismatch{found.words, at / 8 + found.first_word};
        }
        return total;
    }

    Status record(isthmus::Event& event, isthmus::Stream& stream) override {
        return cu().call(cu().cuEventRecord, raw(event), raw(stream));
    }

    Result<bool> has_passed(isthmus::Event& event) override {
        ISTHMUS_TRY(cu().usable());
        const auto& query = cu().cuEventQuery;
        if (!query) return query.absent();
        const cuda::ReturnCode code = query(raw(event));
        // That a graph is being recorded says nothing of the event.
        const bool captures = code >= error_stream_capture_unsupported && code <= error_captured_event;
        if (code != cuda::success && code != cuda::error_not_ready && !captures) return cu().failure(query.name, code);
        return code == cuda::success;
    }

    Result<double> seconds_between(isthmus::Event& start, isthmus::Event& stop) override {
        float milliseconds = 0;
        ISTHMUS_TRY(cu().call(cu().cuEventElapsedTime, &milliseconds, raw(start), raw(stop)));
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    const Api& cu() const { return context_->api(); }

    Result<std::unique_ptr<isthmus::Event>> create_event(unsigned flags) {
        cuda::Event event = nullptr;
        ISTHMUS_TRY(cu().call(cu().cuEventCreate, &event, flags));
        return std::unique_ptr<isthmus::Event>(std::make_unique<CudaEvent>(context_, event));
    }

    // Made for the first gate, so that opening a device pins nothing: what that costs first is measured.
    Result<std::shared_ptr<GateWords>> gate_words() {
        const std::lock_guard lock(mutex_);
        if (gate_words_ == nullptr) ISTHMUS_TRY(assign(gate_words_, GateWords::create(context_)));
        return gate_words_;
    }

    // Likewise for the first rendezvous.
    Result<std::shared_ptr<RendezvousWords>> rendezvous_words() {
        const std::lock_guard lock(mutex_);
        if (rendezvous_words_ == nullptr) ISTHMUS_TRY(assign(rendezvous_words_, RendezvousWords::create(context_)));
        return rendezvous_words_;
    }

    std::unique_ptr<isthmus::Stream> own(cuda::Stream stream) const {
        return std::make_unique<CudaStream>(context_, stream, CudaStream::Owner::this_object);
    }

    // What the driver reads each parameter from: as many of its first bytes as the kernel's parameter has.
    Status start(cuda::Kernel function, Grid grid, cuda::Stream stream, std::span<std::uint64_t> parameters) const {
        std::array<void*, most_kernel_parameters> pointers{};
        for (std::size_t i = 0; i < parameters.size(); ++i) pointers[i] = &parameters[i];
        return cu().call(cu().cuLaunchKernel, function, grid.blocks, 1U, 1U, grid.threads, 1U, 1U, 0U, stream,
                         pointers.data(), static_cast<void**>(nullptr));
    }

    // Where kernels find the allocation, which may be another device's.
    Result<DevicePointer> reached(const Allocation* allocation) const {
        if (allocation == nullptr) return DevicePointer{0};
        const auto* const memory = static_cast<const CudaAllocation*>(allocation);
        if (is_on_device(memory->kind()) && !memory->context().same(*context_)) {
            ISTHMUS_TRY(context_->let_kernels_reach(memory->context()));
        }
        if (memory->address() != 0) return memory->address();
        return unsupported("kernels cannot reach " + std::string(name_of(memory->kind())) + " memory on this device");
    }

    const Driver& driver_;
    ContextPointer context_;
    std::mutex mutex_;  // guards the two that follow
    std::shared_ptr<GateWords> gate_words_;
    std::shared_ptr<RendezvousWords> rendezvous_words_;
    DeviceInfo info_;
    Features features_;
    cuda::Device ordinal_;
};

}  // namespace

BackendListing list_devices() {
    BackendListing listing{"cuda", {}, "", {"libcuda.so.1"}, ""};
    auto driver = Driver::get();
    if (!driver.ok()) {
        listing.absent_because = driver.take_status().message();
        return listing;
    }
    listing.library = driver.value()->api.library;
    int count = 0;
    const Api& cu = driver.value()->api;
    listing.is_parents = !cu.usable().ok();
    if (Status status = cu.call(cu.cuDeviceGetCount, &count); !status.ok()) listing.absent_because = status.message();
    for (int index = 0; index < count; ++index) {
        auto info = describe(*driver.value(), index);
        if (info.ok()) {
            listing.devices.push_back(info.value());
        } else {
            listing.absent_because += "device " + std::to_string(index) + ": " + info.take_status().message() + "; ";
        }
    }
    return listing;
}

Result<std::shared_ptr<isthmus::Device>> open_device(int index, ContextLife life) {
    ISTHMUS_TRY_ASSIGN(driver, Driver::get());
    const Door door(driver->api);
    ISTHMUS_TRY_ASSIGN(info, describe(*driver, index));
    ISTHMUS_TRY_ASSIGN(ordinal, device_at(*driver, index));
    ISTHMUS_TRY_ASSIGN(context, PrimaryContext::retain(*driver, ordinal));
    ISTHMUS_TRY_ASSIGN(features, read_features(*context));
    if (life == ContextLife::of_program) ISTHMUS_TRY(context->give_reference_back());
    return std::shared_ptr<isthmus::Device>(std::make_shared<CudaDevice>(*driver, context, info, features, ordinal));
}

}  // namespace isthmus::cuda
