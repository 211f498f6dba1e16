// The OpenCL backend: GPUs of any vendor, and the CPU through PoCL.
#include "backend/opencl/opencl_device.hpp"

#include <algorithm>
#include <utility>

#include "backend/opencl/context.hpp"
#include "backend/opencl/memory.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::opencl {
namespace {

using ContextPointer = std::shared_ptr<SharedContext>;

constexpr auto no_wait = static_cast<const Event*>(nullptr);
constexpr auto no_event = static_cast<Event*>(nullptr);
constexpr Bool non_blocking = 0;

ClAllocation& allocation_of(const Region& region) {
    return static_cast<ClAllocation&>(*region.allocation);
}

// An in-order queue, with kernels of its own: setting the arguments of one kernel object from two threads is a race.
class ClStream final : public Stream {
  public:
    ClStream(ContextPointer context, Queue queue) : context_(std::move(context)), queue_(queue) {}
    ~ClStream() override {
        const Api& cl = context_->api();
        (void)cl.call(cl.clFinish, queue_);
        for (Kernel kernel : {fill, verify, copy}) {
            if (kernel != nullptr) (void)cl.call(cl.clReleaseKernel, kernel);
        }
        if (result != nullptr) (void)cl.call(cl.clReleaseMemObject, result);
        (void)cl.call(cl.clReleaseCommandQueue, queue_);
    }
    Status synchronize() override { return context_->api().call(context_->api().clFinish, queue_); }
    Queue get() const { return queue_; }

    Status create_parts() {
        ISTHMUS_TRY_ASSIGN(fill_kernel, context_->create_kernel(kernel_name::fill));
        fill = fill_kernel;
        ISTHMUS_TRY_ASSIGN(verify_kernel, context_->create_kernel(kernel_name::verify));
        verify = verify_kernel;
        ISTHMUS_TRY_ASSIGN(copy_kernel, context_->create_kernel(kernel_name::copy));
        copy = copy_kernel;
        ReturnCode code = success;
        result = context_->api().clCreateBuffer(context_->get(), mem_read_write, sizeof(VerifyResult), nullptr, &code);
        return Api::check("clCreateBuffer", code);
    }

    Kernel fill = nullptr, verify = nullptr, copy = nullptr;
    Buffer result = nullptr;

  private:
    ContextPointer context_;
    Queue queue_;
};

ClStream& stream_of(Stream& stream) {
    return static_cast<ClStream&>(stream);
}

class ClEvent final : public isthmus::Event {
  public:
    explicit ClEvent(ContextPointer context) : context_(std::move(context)) {}
    ~ClEvent() override { replace(nullptr); }
    void replace(opencl::Event event) {
        if (event_ != nullptr) (void)context_->api().call(context_->api().clReleaseEvent, event_);
        event_ = event;
    }
    opencl::Event get() const { return event_; }

  private:
    ContextPointer context_;
    opencl::Event event_ = nullptr;
};

class ClGate final : public Gate {
  public:
    ClGate(ContextPointer context, Event event) : context_(std::move(context)), event_(event) {}
    ~ClGate() override {
        (void)open();
        (void)context_->api().call(context_->api().clReleaseEvent, event_);
    }
    Status open() override {
        if (std::exchange(opened_, true)) return {};
        constexpr std::int32_t complete = 0;
        return context_->api().call(context_->api().clSetUserEventStatus, event_, complete);
    }

  private:
    ContextPointer context_;
    Event event_;
    bool opened_ = false;
};

class ClDevice final : public isthmus::Device {
  public:
    ClDevice(ContextPointer context, std::uint32_t compute_units, std::uint64_t largest, Flags svm)
        : context_(std::move(context)), compute_units_(compute_units), largest_allocation_(largest), svm_(svm) {}

    const DeviceInfo& info() const override { return context_->entry().info; }
    LinkReading read_link() override { return {}; }
    // OpenCL does not tell; the whole memory is the upper bound that callers can work with.
    Result<std::size_t> free_bytes() override { return static_cast<std::size_t>(info().memory_bytes); }

    std::optional<std::string> why_not(MemoryKind kind) const override {
        if (kind == MemoryKind::write_combined) return "OpenCL cannot ask for write-combined memory";
        if (kind == MemoryKind::managed && ((svm_ & svm_coarse_grain_buffer) == 0 || !cl().clSVMAlloc)) {
            return "the device has no shared virtual memory (OpenCL 2.0)";
        }
        return std::nullopt;
    }

    std::optional<std::string> why_no_prefetch() const override {
        if (info().shares_host_memory) return "device memory is host memory: prefetching moves no pages";
        if (!cl().clEnqueueSVMMigrateMem) return cl().clEnqueueSVMMigrateMem.absent().message();
        return std::nullopt;
    }

    // Host kinds are addresses that stay mapped, but for `mapped`, which is handed back for kernels.
    bool kernels_reach(MemoryKind kind) const override {
        return kind == MemoryKind::mapped || kind == MemoryKind::managed || kind == MemoryKind::device;
    }

    // GPU drivers stage what they have not locked themselves, on the calling thread.
    bool copy_blocks(MemoryKind kind) const override {
        return !context_->entry().is_cpu && kind != MemoryKind::pinned && kind != MemoryKind::mapped &&
               kind != MemoryKind::device;
    }

    Result<std::unique_ptr<Allocation>> allocate(MemoryKind kind, std::size_t bytes) override {
        if (auto reason = why_not(kind)) return Status(Code::unsupported, *reason);
        const bool is_buffer = kind != MemoryKind::pageable && kind != MemoryKind::pageable_huge;
        if (is_buffer && bytes > largest_allocation_) {
            return Status(Code::out_of_memory, std::to_string(bytes) + " bytes of " + std::string(name_of(kind)) +
                                                   " memory: the device allows at most " +
                                                   std::to_string(largest_allocation_) + " in one piece");
        }
        return opencl::allocate(context_, kind, bytes);
    }

    Result<std::unique_ptr<Stream>> create_stream() override {
        ISTHMUS_TRY_ASSIGN(queue, context_->create_queue());
        auto stream = std::make_unique<ClStream>(context_, queue);
        ISTHMUS_TRY(stream->create_parts());
        return std::unique_ptr<Stream>(std::move(stream));
    }
    Result<std::unique_ptr<isthmus::Event>> create_event() override {
        return std::unique_ptr<isthmus::Event>(std::make_unique<ClEvent>(context_));
    }

    Result<std::unique_ptr<Gate>> close_gate(std::span<Stream* const> streams) override {
        ReturnCode code = success;
        Event event = cl().clCreateUserEvent(context_->get(), &code);
        ISTHMUS_TRY(Api::check("clCreateUserEvent", code));
        auto gate = std::make_unique<ClGate>(context_, event);
        for (Stream* stream : streams) {
            ISTHMUS_TRY(cl().call(cl().clEnqueueBarrierWithWaitList, stream_of(*stream).get(), 1U,
                                  static_cast<const Event*>(&event), no_event));
        }
        return std::unique_ptr<Gate>(std::move(gate));
    }

    Status bind_thread() override { return {}; }
    Status begin_host_access(Allocation& memory) override {
        return static_cast<ClAllocation&>(memory).begin_host_access();
    }
    Status end_host_access(Allocation& memory) override { return static_cast<ClAllocation&>(memory).end_host_access(); }

    Status copy(Stream& stream, Region destination, Region source) override {
        const Queue queue = stream_of(stream).get();
        const bool to_device = destination.allocation->kind() == MemoryKind::device;
        const bool from_device = source.allocation->kind() == MemoryKind::device;
        for (const Allocation* memory : {destination.allocation, source.allocation}) {
            if (memory->kind() != MemoryKind::device && memory->host() == nullptr) {
                return {Code::unsupported, std::string(name_of(memory->kind())) +
                                               " memory has no host address to copy from or to; a kernel reaches it"};
            }
        }
        Status status;
        if (to_device && from_device) {
            status = cl().call(cl().clEnqueueCopyBuffer, queue, allocation_of(source).buffer(),
                               allocation_of(destination).buffer(), source.offset, destination.offset, source.bytes, 0U,
                               no_wait, no_event);
        } else if (to_device) {
            status = cl().call(cl().clEnqueueWriteBuffer, queue, allocation_of(destination).buffer(), non_blocking,
                               destination.offset, source.bytes, static_cast<const void*>(source.host()), 0U, no_wait,
                               no_event);
        } else {
            status =
                cl().call(cl().clEnqueueReadBuffer, queue, allocation_of(source).buffer(), non_blocking, source.offset,
                          source.bytes, static_cast<void*>(destination.host()), 0U, no_wait, no_event);
        }
        ISTHMUS_TRY(std::move(status));
        return flush(queue);
    }

    Status copy_by_kernel(Stream& stream, Region destination, Region source) override {
        ClStream& queue = stream_of(stream);
        Arguments arguments{cl(), queue.copy};
        ISTHMUS_TRY(arguments.add(destination));
        ISTHMUS_TRY(arguments.add(source));
        ISTHMUS_TRY(arguments.add(std::uint64_t{source.bytes}));
        ISTHMUS_TRY(launch(queue, queue.copy, source.bytes));
        return flush(queue.get());
    }

    Status prefetch(Stream& stream, Region region, Side side) override {
        const void* address = static_cast<const std::byte*>(allocation_of(region).svm()) + region.offset;
        const Queue queue = stream_of(stream).get();
        ISTHMUS_TRY(cl().call(cl().clEnqueueSVMMigrateMem, queue, 1U, &address,
                              static_cast<const std::size_t*>(&region.bytes), side == Side::host ? migrate_to_host : 0,
                              0U, no_wait, no_event));
        return flush(queue);
    }

    Status set_bytes(Stream& stream, Region region, std::uint8_t value) override {
        return cl().call(cl().clEnqueueFillBuffer, stream_of(stream).get(), allocation_of(region).buffer(),
                         static_cast<const void*>(&value), sizeof value, region.offset, region.bytes, 0U, no_wait,
                         no_event);
    }

    Status fill_pattern(Stream& stream, Region region, std::uint64_t seed) override {
        ClStream& queue = stream_of(stream);
        for (std::uint64_t at = 0; at < region.bytes; at += max_region_bytes) {
            const std::uint64_t bytes = std::min<std::uint64_t>(max_region_bytes, region.bytes - at);
            Arguments arguments{cl(), queue.fill};
            ISTHMUS_TRY(arguments.add(Region{region.allocation, region.offset + at, bytes}));
            for (const std::uint64_t value : {bytes, seed, at / 8}) ISTHMUS_TRY(arguments.add(value));
            ISTHMUS_TRY(launch(queue, queue.fill, bytes));
        }
        return {};
    }

    Result<Mismatch> verify_pattern(Stream& stream, Region region, std::uint64_t seed) override {
        ClStream& queue = stream_of(stream);
        if (allocation_of(region).buffer() == nullptr && allocation_of(region).svm() == nullptr) {
            return Status(Code::unsupported, "kernels cannot reach " + std::string(name_of(region.allocation->kind())) +
                                                 " memory on this device");
        }
        Mismatch total;
        for (std::uint64_t at = 0; at < region.bytes; at += max_region_bytes) {
            const std::uint64_t bytes = std::min<std::uint64_t>(max_region_bytes, region.bytes - at);
            VerifyResult found;
            ISTHMUS_TRY(cl().call(cl().clEnqueueWriteBuffer, queue.get(), queue.result, non_blocking, std::size_t{0},
                                  sizeof found, static_cast<const void*>(&found), 0U, no_wait, no_event));
            Arguments arguments{cl(), queue.verify};
            ISTHMUS_TRY(arguments.add(Region{region.allocation, region.offset + at, bytes}));
            for (const std::uint64_t value : {bytes, seed, at / 8}) ISTHMUS_TRY(arguments.add(value));
            ISTHMUS_TRY(arguments.add(queue.result));
            ISTHMUS_TRY(arguments.add(std::uint64_t{0}));
            ISTHMUS_TRY(launch(queue, queue.verify, bytes));
            ISTHMUS_TRY(cl().call(cl().clEnqueueReadBuffer, queue.get(), queue.result, non_blocking, std::size_t{0},
                                  sizeof found, static_cast<void*>(&found), 0U, no_wait, no_event));
            ISTHMUS_TRY(stream.synchronize());
            if (found.words != 0) total = total + Mismatch{found.words, at / 8 + found.first_word};
        }
        return total;
    }

    Status record(isthmus::Event& event, Stream& stream) override {
        Event marker = nullptr;
        ISTHMUS_TRY(cl().call(cl().clEnqueueMarkerWithWaitList, stream_of(stream).get(), 0U, no_wait, &marker));
        static_cast<ClEvent&>(event).replace(marker);
        return {};
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

    // Without it some drivers keep a command back until the host waits.
    Status flush(Queue queue) const { return cl().call(cl().clFlush, queue); }

    // Sets a kernel's arguments one after the other; a region takes two, the memory and the offset in it.
    struct Arguments {
        const Api& cl;
        Kernel kernel;
        std::uint32_t index = 0;

        template <typename T>
        Status add(const T& value) {
            return cl.call(cl.clSetKernelArg, kernel, index++, sizeof value, static_cast<const void*>(&value));
        }
        Status add(const Region& region) {
            ClAllocation& memory = allocation_of(region);
            if (void* svm = memory.svm()) {
                ISTHMUS_TRY(cl.call(cl.clSetKernelArgSVMPointer, kernel, index++, static_cast<const void*>(svm)));
            } else {
                ISTHMUS_TRY(add(memory.buffer()));
            }
            return add(std::uint64_t{region.offset});
        }
    };

    Status launch(ClStream& stream, Kernel kernel, std::uint64_t bytes) const {
        // A GPU wants many work-items a group; a CPU runs a group on one core, where more of them only scatter its
        // accesses.
        const std::size_t local = context_->entry().is_cpu ? 1 : block_threads;
        const std::size_t global =
            context_->entry().is_cpu ? compute_units_ : local * block_count(bytes, compute_units_);
        return cl().call(cl().clEnqueueNDRangeKernel, stream.get(), kernel, 1U,
                         static_cast<const std::size_t*>(nullptr), &global, &local, 0U, no_wait, no_event);
    }

    ContextPointer context_;
    std::uint32_t compute_units_;
    std::uint64_t largest_allocation_;
    Flags svm_;
};

template <typename T>
T device_value(const Entry& entry, std::uint32_t what, T otherwise) {
    T value{};
    const auto none = static_cast<std::size_t*>(nullptr);
    const Api& cl = entry.api;
    return cl.call(cl.clGetDeviceInfo, entry.device, what, sizeof value, static_cast<void*>(&value), none).ok()
               ? value
               : otherwise;
}

}  // namespace

BackendListing list_devices(const std::vector<std::string>& drivers) {
    const Registry registry = find_devices(drivers);
    BackendListing listing{"opencl", {}, "", registry.looked_for, registry.absent_because};
    for (const Entry& entry : registry.entries) {
        listing.devices.push_back(entry.info);
        if (listing.library.empty()) listing.library = entry.library;
    }
    return listing;
}

Result<std::shared_ptr<isthmus::Device>> open_device(int index, const std::vector<std::string>& drivers) {
    const Registry registry = find_devices(drivers);
    if (index < 0 || static_cast<std::size_t>(index) >= registry.entries.size()) {
        return Status(Code::device_absent, "no OpenCL device " + std::to_string(index) + "; found " +
                                               std::to_string(registry.entries.size()));
    }
    const Entry& entry = registry.entries[static_cast<std::size_t>(index)];
    ISTHMUS_TRY_ASSIGN(context, SharedContext::create(entry));
    return std::shared_ptr<isthmus::Device>(
        std::make_shared<ClDevice>(context, device_value<std::uint32_t>(entry, device_max_compute_units, 1),
                                   device_value<std::uint64_t>(entry, device_max_mem_alloc_size, UINT64_MAX),
                                   device_value<Flags>(entry, device_svm_capabilities, 0)));
}

}  // namespace isthmus::opencl
