// The OpenCL backend: GPUs of any vendor, and the CPU through PoCL.
#include "backend/opencl/opencl_device.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backend/device_info.hpp"
#include "backend/launch.hpp"
#include "backend/opencl/context.hpp"
#include "backend/opencl/launch.hpp"
#include "backend/opencl/memory.hpp"
#include "backend/opencl/query.hpp"
#include "backend/opencl/section.hpp"
#include "backend/opencl/stream.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::opencl {
namespace {

using ContextPointer = std::shared_ptr<SharedContext>;

ClAllocation& allocation_of(const Region& region) {
    return static_cast<ClAllocation&>(*region.allocation);
}

ClStream& stream_of(Stream& stream) {
    return static_cast<ClStream&>(stream);
}

class ClDevice final : public isthmus::Device {
  public:
    ClDevice(ContextPointer context, std::uint32_t compute_units, std::uint64_t largest, Flags svm, bool has_images,
             bool has_doubles)
        : context_(std::move(context)),
          compute_units_(compute_units),
          largest_allocation_(largest),
          svm_(svm),
          has_images_(has_images),
          has_doubles_(has_doubles) {}

    const DeviceInfo& info() const override { return context_->entry().info; }
    LinkReading read_link() override { return {}; }
    // OpenCL does not tell; the whole memory is the upper bound that callers can work with.
    Result<std::size_t> free_bytes() override { return static_cast<std::size_t>(info().memory_bytes); }

    std::optional<std::string> why_not(MemoryKind kind) const override {
        if (kind == MemoryKind::write_combined) return "OpenCL cannot ask for write-combined memory";
        if (kind == MemoryKind::pinned_portable) return "OpenCL has one kind of page-locked memory, for one context";
        if (kind == MemoryKind::device_pitched) return "OpenCL leaves pitches to the program";
        if (kind == MemoryKind::device_pool || kind == MemoryKind::device_pool_cold) {
            return "OpenCL has no stream-ordered memory pools";
        }
        if (kind == MemoryKind::device_array && !has_images_) return "the device has no images";
        if (kind == MemoryKind::managed && ((svm_ & svm_coarse_grain_buffer) == 0 || !cl().clSVMAlloc)) {
            return "the device has no shared virtual memory (OpenCL 2.0)";
        }
        if (kind == MemoryKind::mapped && !info().shares_host_memory && info().vendor.starts_with("NVIDIA")) {
            return "NVIDIA's OpenCL keeps such buffers on the device, so that kernels do not reach across the link";
        }
        return std::nullopt;
    }

    std::optional<std::string> why_no_migration() const override {
        if (auto reason = why_not(MemoryKind::managed)) return reason;
        if (info().shares_host_memory) return "device memory is host memory: no page moves";
        return std::nullopt;
    }
    std::optional<std::string> why_no_advice() const override {
        return "OpenCL has no calls for advice on shared virtual memory";
    }
    std::optional<std::string> why_no_doubles() const override {
        if (has_doubles_) return std::nullopt;
        return "the device has no 64-bit floats (cl_khr_fp64)";
    }
    std::optional<std::string> why_no_prefetch() const override {
        if (info().shares_host_memory) return "device memory is host memory: prefetching moves no pages";
        return "OpenCL cannot ask for it: clEnqueueSVMMigrateMem is a hint, which drivers put off until a kernel runs";
    }

    std::optional<std::string> why_no_peer(const isthmus::Device& other) const override {
        if (shares_context(other)) return std::nullopt;
        return "OpenCL copies within a context only, and each device has a context of its own";
    }

    std::optional<std::string> why_no_peer_reach(const isthmus::Device& other) const override {
        if (shares_context(other)) return std::nullopt;
        return "OpenCL's kernels take memory of their own context alone, and each device has a context of its own";
    }

    // Host kinds are addresses that stay mapped, but for `mapped`, which is handed back for kernels.
    std::optional<std::string> why_no_reach(MemoryKind kind) const override {
        if (!context_->has_kernels()) return "kernels are built in contexts of Isthmus' own alone";
        if (kind == MemoryKind::mapped || kind == MemoryKind::managed || kind == MemoryKind::device) {
            return std::nullopt;
        }
        return "OpenCL's kernels take buffers that the host has handed back, and shared virtual memory, alone";
    }

    // GPU drivers stage what they have not locked themselves, on the calling thread.
    bool copy_blocks(MemoryKind kind) const override {
        return !context_->entry().is_cpu && kind != MemoryKind::pinned && kind != MemoryKind::mapped &&
               !is_on_device(kind);
    }
    // Drivers put off the real allocation of a buffer until its first use; those of CPUs hand out ordinary memory for
    // what others lock.
    bool allocates_late(MemoryKind kind) const override {
        const bool ordinary = kind == MemoryKind::pinned || kind == MemoryKind::mapped;
        return is_pageable(kind) || kind == MemoryKind::managed || kind == MemoryKind::device ||
               (ordinary && context_->entry().is_cpu);
    }

    Result<std::unique_ptr<Allocation>> reserve(MemoryKind kind, std::size_t bytes, std::byte* pages) override {
        if (auto reason = why_not(kind)) return unsupported(*reason);
        if (!is_pageable(kind) && bytes > largest_allocation_) {
            return Status(Code::out_of_memory,
                          "the device allows at most " + std::to_string(largest_allocation_) + " bytes in one piece");
        }
        return opencl::reserve(context_, kind, bytes, pages);
    }

    Result<std::unique_ptr<Stream>> create_stream() override {
        ISTHMUS_TRY_ASSIGN(stream, ClStream::create(context_));
        return std::unique_ptr<Stream>(std::move(stream));
    }
    Result<std::unique_ptr<isthmus::Event>> create_event() override {
        return std::unique_ptr<isthmus::Event>(std::make_unique<ClEvent>(context_));
    }

    Result<std::unique_ptr<Gate>> close_gate(std::span<Stream* const> streams) override {
        ISTHMUS_TRY_ASSIGN(barrier, Barrier::create(context_));
        for (Stream* stream : streams) ISTHMUS_TRY(barrier->close(stream_of(*stream).get()));
        return std::unique_ptr<Gate>(std::make_unique<ClGate>(std::move(barrier)));
    }

    std::uintptr_t context_handle() const override { return reinterpret_cast<std::uintptr_t>(context_->get()); }
    // OpenCL cannot be asked about addresses; the shared virtual memory that was allocated here is known.
    Result<KnownMemory> identify(std::uintptr_t address) override {
        ISTHMUS_TRY(usable());
        const std::lock_guard lock(context_->svm_mutex());
        const auto& ranges = context_->svm_ranges();
        const auto after = ranges.upper_bound(address);
        if (after == ranges.begin() || address >= std::prev(after)->second) return KnownMemory{};
        return KnownMemory{MemoryKind::managed, info().index, std::prev(after)->first, std::prev(after)->second};
    }
    Result<std::unique_ptr<Allocation>> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes,
                                               std::uintptr_t) override {
        return opencl::borrow(context_, kind, address, bytes);
    }
    Result<std::unique_ptr<Stream>> borrow_stream(std::uintptr_t handle) override {
        ISTHMUS_TRY_ASSIGN(stream, ClStream::borrow(context_, handle));
        return std::unique_ptr<Stream>(std::move(stream));
    }
    Status wait(Stream& stream, isthmus::Event& event) override {
        ISTHMUS_TRY(enqueue_barrier(cl(), stream_of(stream).get(), static_cast<ClEvent&>(event).get()));
        return flush(stream_of(stream).get());
    }
    std::optional<std::string> why_no_rendezvous() const override { return std::nullopt; }
    Result<std::unique_ptr<Rendezvous>> create_rendezvous() override {
        return std::unique_ptr<Rendezvous>(std::make_unique<ClRendezvous>(context_));
    }

    Status bind_thread() override { return usable(); }
    Result<Before> enter() override {
        ISTHMUS_TRY(usable());
        return Before();
    }
    Status begin_host_access(Allocation& memory) override {
        return static_cast<ClAllocation&>(memory).begin_host_access();
    }
    Status end_host_access(Allocation& memory) override { return static_cast<ClAllocation&>(memory).end_host_access(); }

    Status copy(Stream& stream, Region destination, Region source) override {
        const Queue queue = stream_of(stream).get();
        const bool to_device = is_on_device(destination.allocation->kind());
        const bool from_device = is_on_device(source.allocation->kind());
        ISTHMUS_TRY(check_addresses(*destination.allocation, *source.allocation));
        Status status;
        if (to_device && from_device) {
            status = cl().call(cl().clEnqueueCopyBuffer, queue, allocation_of(source).buffer(),
                               allocation_of(destination).buffer(), source.offset, destination.offset, source.bytes, 0U,
                               no_wait, no_event);
        } else if (to_device) {
            status = allocation_of(source).with_host_address(queue, source.offset, source.bytes, [&](void* memory) {
                return cl().call(cl().clEnqueueWriteBuffer, queue, allocation_of(destination).buffer(), non_blocking,
                                 destination.offset, source.bytes, static_cast<const void*>(memory), 0U, no_wait,
                                 no_event);
            });
        } else {
            const ClAllocation& host = allocation_of(destination);
            status = host.with_host_address(queue, destination.offset, source.bytes, [&](void* memory) {
                return cl().call(cl().clEnqueueReadBuffer, queue, allocation_of(source).buffer(), non_blocking,
                                 source.offset, source.bytes, memory, 0U, no_wait, no_event);
            });
        }
        ISTHMUS_TRY(std::move(status));
        return flush(queue);
    }

    Status copy_section(Stream& stream, const Layout& destination, const Layout& source,
                        const Extent& extent) override {
        ISTHMUS_TRY(opencl::copy_section(*context_, stream_of(stream).get(), destination, source, extent));
        return flush(stream_of(stream).get());
    }

    Status launch(Stream& stream, KernelId kernel, std::span<const KernelArgument> arguments,
                  std::uint32_t most_blocks) override {
        if (auto reason = why_no_doubles(); reason && row_of(kernel).needs_doubles) return unsupported(*reason);
        const Queue queue = stream_of(stream).get();
        ISTHMUS_TRY_ASSIGN(launch, Launch::create(context_, row_of(kernel).name));
        for (const KernelArgument& argument : arguments) ISTHMUS_TRY(launch.add(argument));
        const std::uint32_t cores = most_blocks == 0 ? compute_units_ : std::min(most_blocks, compute_units_);
        ISTHMUS_TRY(launch.start(queue, grid_of(kernel, arguments, compute_units_, most_blocks), cores));
        return flush(queue);
    }

    std::optional<std::string> why_no_batch() const override {
        return "OpenCL has no call that takes many copies at once";
    }
    std::optional<std::string> why_no_graph() const override {
        return "OpenCL cannot record copies to replay them (cl_khr_command_buffer is provisional)";
    }
    Result<std::unique_ptr<PreparedCopies>> prepare_batch(const Layout&, const Layout&, const Extent&) override {
        return unsupported(*why_no_batch());
    }
    Result<std::unique_ptr<PreparedCopies>> prepare_graph(const Layout&, const Layout&, const Extent&) override {
        return unsupported(*why_no_graph());
    }

    Status prefetch(Stream&, Region, Side) override { return unsupported(*why_no_prefetch()); }

    Status advise(Allocation&, Advice, bool) override { return unsupported(*why_no_advice()); }

    Status set_bytes(Stream& stream, Region region, std::uint8_t value) override {
        return cl().call(cl().clEnqueueFillBuffer, stream_of(stream).get(), allocation_of(region).buffer(),
                         static_cast<const void*>(&value), sizeof value, region.offset, region.bytes, 0U, no_wait,
                         no_event);
    }

    Result<Mismatch> verify_pattern(Stream& stream, Region region, std::uint64_t seed) override {
        ClStream& queue = stream_of(stream);
        ISTHMUS_TRY_ASSIGN(result, queue.result());
        const Buffer counts = allocation_of(result).buffer();
        Mismatch total;
        for (std::uint64_t at = 0; at < region.bytes; at += max_region_bytes) {
            const std::uint64_t bytes = std::min<std::uint64_t>(max_region_bytes, region.bytes - at);
            VerifyResult part;
            ISTHMUS_TRY(cl().call(cl().clEnqueueWriteBuffer, queue.get(), counts, blocking, std::size_t{0}, sizeof part,
                                  static_cast<const void*>(&part), 0U, no_wait, no_event));
            ISTHMUS_TRY(isthmus::launch(*this, stream, kernel::verify, {region.allocation, region.offset + at, bytes},
                                        bytes, seed, at / 8, result));
            ISTHMUS_TRY(cl().call(cl().clEnqueueReadBuffer, queue.get(), counts, blocking, std::size_t{0}, sizeof part,
                                  static_cast<void*>(&part), 0U, no_wait, no_event));
            if (part.words != 0) total = total + Mismatch{part.words, at / 8 + part.first_word};
        }
        return total;
    }

    Status record(isthmus::Event& event, Stream& stream) override {
        Event marker = nullptr;
        ISTHMUS_TRY(cl().call(cl().clEnqueueMarkerWithWaitList, stream_of(stream).get(), 0U, no_wait, &marker));
        static_cast<ClEvent&>(event).replace(marker);
        return flush(stream_of(stream).get());
    }

    Result<bool> has_passed(isthmus::Event& event) override {
        std::int32_t state = 0;
        ISTHMUS_TRY(cl().call(cl().clGetEventInfo, static_cast<ClEvent&>(event).get(), event_command_execution_status,
                              sizeof state, static_cast<void*>(&state), static_cast<std::size_t*>(nullptr)));
        // A failure takes the place of the state.
        if (state < 0) ISTHMUS_TRY(Api::check("clGetEventInfo(CL_EVENT_COMMAND_EXECUTION_STATUS)", state));
        return state == complete;
    }

    Result<double> seconds_between(isthmus::Event& start, isthmus::Event& stop) override {
        std::uint64_t nanoseconds[2] = {};
        int i = 0;
        for (isthmus::Event* event : {&start, &stop}) {
            ISTHMUS_TRY(cl().call(cl().clGetEventProfilingInfo, static_cast<ClEvent*>(event)->get(),
                                  profiling_command_end, sizeof nanoseconds[0], static_cast<void*>(&nanoseconds[i++]),
                                  static_cast<std::size_t*>(nullptr)));
        }
        return (static_cast<double>(nanoseconds[1]) - static_cast<double>(nanoseconds[0])) * 1e-9;
    }

  private:
    const Api& cl() const { return context_->api(); }
    bool shares_context(const isthmus::Device& other) const {
        const auto* const peer = dynamic_cast<const ClDevice*>(&other);
        return peer != nullptr && peer->context_ == context_;
    }

    // Without it some drivers keep a command back until the host waits.
    Status flush(Queue queue) const { return cl().call(cl().clFlush, queue); }

    ContextPointer context_;
    std::uint32_t compute_units_;
    std::uint64_t largest_allocation_;
    Flags svm_;
    bool has_images_;
    bool has_doubles_;
};

std::shared_ptr<isthmus::Device> device_in(ContextPointer context) {
    const Entry& entry = context->entry();
    const auto compute_units = value_of<std::uint32_t>(entry.api, entry.device, device_max_compute_units).value_or(1);
    const auto largest = value_of<std::uint64_t>(entry.api, entry.device, device_max_mem_alloc_size);
    const Flags svm = value_of<Flags>(entry.api, entry.device, device_svm_capabilities).value_or(0);
    const bool has_images = value_of<Bool>(entry.api, entry.device, device_image_support).value_or(0) != 0;
    const bool has_doubles = value_of<Flags>(entry.api, entry.device, device_double_fp_config).value_or(0) != 0;
    return std::make_shared<ClDevice>(std::move(context), compute_units, largest.value_or(UINT64_MAX), svm, has_images,
                                      has_doubles);
}

}  // namespace

BackendListing list_devices(const std::vector<std::string>& drivers) {
    const Registry registry = find_devices(drivers);
    BackendListing listing{"opencl", {}, "", registry.looked_for, registry.absent_because, !usable().ok()};
    for (const Entry& entry : registry.entries) {
        listing.devices.push_back(entry.info);
        if (listing.library.empty()) listing.library = entry.library;
    }
    return listing;
}

Result<std::shared_ptr<isthmus::Device>> open_device(int index, const std::vector<std::string>& drivers) {
    const Registry registry = find_devices(drivers);
    if (index < 0 || static_cast<std::size_t>(index) >= registry.entries.size()) {
        ISTHMUS_TRY(usable());
        const std::string& why = registry.absent_because;
        return Status(Code::device_absent, "no OpenCL device " + std::to_string(index) + "; found " +
                                               std::to_string(registry.entries.size()) + (why.empty() ? "" : "; ") +
                                               why);
    }
    ISTHMUS_TRY_ASSIGN(context, SharedContext::of(registry.entries[static_cast<std::size_t>(index)]));
    return device_in(std::move(context));
}

Result<std::shared_ptr<isthmus::Device>> open_device_in(const Api& api, Context context, opencl::Device device) {
    ISTHMUS_TRY_ASSIGN(platform, property_of<Platform>(api, api.clGetDeviceInfo, device, device_platform));
    const Entry entry = describe(platform, device, api, "the program's OpenCL");
    if (!entry.has_tables) return unsupported(entry.info.name + "'s driver has no cl_khr_icd");
    ISTHMUS_TRY_ASSIGN(shared, SharedContext::in(entry, context));
    return device_in(std::move(shared));
}

}  // namespace isthmus::opencl
