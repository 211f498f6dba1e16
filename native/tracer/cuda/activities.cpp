// What devices did, as CUPTI tells of it in buffers when it is done.
#include <cxxabi.h>

#include <cstdlib>
#include <limits>

#include "tracer/cuda/recorder.hpp"
#include "tracer/thread_state.hpp"

namespace isthmus::tracer {
namespace {

// Names of templates can be longer than everything else in a trace.
constexpr std::size_t longest_kernel_name = 512;
// What a graph that is recorded as a whole is called.
constexpr std::string_view whole_graph = "CUDA graph";

bool moves_pages(int counter) {
    return counter == cupti::counter_bytes_transfer_htod || counter == cupti::counter_bytes_transfer_dtoh ||
           counter == cupti::counter_bytes_transfer_dtod;
}

// Copies within a device and between two differ in where they name their devices.
template <typename Activity>
trace::CopyRecord copy_record(const Activity& copy, std::uint32_t device, std::uint32_t peer) {
    return {.start_ns = copy.start,
            .end_ns = copy.end,
            .bytes = copy.bytes,
            .correlation = copy.correlation,
            .device = device,
            .peer = peer,
            .stream = copy.stream,
            .copy_kind = copy.copy_kind,
            .source = copy.source_kind,
            .destination = copy.destination_kind,
            .flags = copy.flags,
            .count = 1};
}

}  // namespace

void Recorder::on_records(std::uint8_t* buffer, std::size_t bytes) {
    ThreadState& thread = ThreadState::of_this_thread(file_);
    cupti::Activity* activity = nullptr;
    std::uint64_t kernels = 0;
    while (api_.cuptiActivityGetNextRecord(buffer, bytes, &activity) == cupti::success) {
        const auto as = [&]<typename Record>(const Record* /*kind*/) {
            add(*reinterpret_cast<const Record*>(activity), *thread.writer);
        };
        switch (activity->kind) {
            case cupti::activity_kind_memcpy: as(static_cast<const cupti::CopyActivity*>(nullptr)); break;
            case cupti::activity_kind_memcpy2: as(static_cast<const cupti::PeerCopyActivity*>(nullptr)); break;
            case cupti::activity_kind_memset: as(static_cast<const cupti::MemsetActivity*>(nullptr)); break;
            case cupti::activity_kind_concurrent_kernel:
                as(static_cast<const cupti::KernelActivity*>(nullptr));
                ++kernels;
                break;
            case cupti::activity_kind_graph_trace: as(static_cast<const cupti::GraphActivity*>(nullptr)); break;
            case cupti::activity_kind_unified_memory_counter:
                as(static_cast<const cupti::UnifiedMemoryCounter*>(nullptr));
                break;
            default: break;
        }
    }
    windows_.recorded(kernels);
    buffers_done_.fetch_add(1, std::memory_order_relaxed);
    std::size_t dropped = 0;
    if (api_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == cupti::success && dropped > 0) {
        file_.add_dropped(dropped);
    }
}

void Recorder::add(const cupti::CopyActivity& copy, trace::Writer& writer) {
    writer.write(copy_record(copy, copy.device, copy.device));
}

void Recorder::add(const cupti::PeerCopyActivity& copy, trace::Writer& writer) {
    writer.write(copy_record(copy, copy.source_device, copy.destination_device));
}

void Recorder::add(const cupti::MemsetActivity& memset, trace::Writer& writer) {
    writer.write(trace::MemsetRecord{.start_ns = memset.start,
                                     .end_ns = memset.end,
                                     .bytes = memset.bytes,
                                     .correlation = memset.correlation,
                                     .device = memset.device,
                                     .stream = memset.stream,
                                     .padding = 0});
}

void Recorder::add(const cupti::KernelActivity& kernel, trace::Writer& writer) {
    writer.write(trace::KernelRecord{.start_ns = kernel.start,
                                     .end_ns = kernel.end,
                                     .correlation = kernel.correlation,
                                     .device = kernel.device,
                                     .stream = kernel.stream,
                                     .name = kernel_name(kernel.name)});
}

// Like a kernel: a device is busy from the first node to the last.
void Recorder::add(const cupti::GraphActivity& graph, trace::Writer& writer) {
    if (graph.start == 0 || graph.end == 0) return;
    graphs_reported_.fetch_add(1, std::memory_order_relaxed);
    // A graph that begins on the host names no device.
    const bool named = graph.device < static_cast<std::uint32_t>(std::numeric_limits<int>::max());
    writer.write(trace::KernelRecord{.start_ns = graph.start,
                                     .end_ns = graph.end,
                                     .correlation = graph.correlation,
                                     .device = named ? graph.device : 0,
                                     .stream = graph.stream,
                                     .name = file_.text(whole_graph)});
}

void Recorder::add(const cupti::UnifiedMemoryCounter& counter, trace::Writer& writer) {
    if (moves_pages(counter.counter_kind)) {
        writer.write(trace::MigrationRecord{.start_ns = counter.start,
                                            .end_ns = counter.end,
                                            .bytes = counter.value,
                                            .address = counter.address,
                                            .counter = static_cast<std::uint32_t>(counter.counter_kind),
                                            .source = counter.source,
                                            .destination = counter.destination,
                                            .cause = counter.flags});
        return;
    }
    // For faults of processors the value is where the program was, and each record is one; for those of devices it
    // counts them.
    const bool counted = counter.counter_kind != cupti::counter_cpu_page_fault_count;
    writer.write(trace::FaultRecord{.start_ns = counter.start,
                                    .end_ns = counter.end,
                                    .address = counter.address,
                                    .count = counted ? counter.value : 1,
                                    .counter = static_cast<std::uint32_t>(counter.counter_kind),
                                    .device = counter.source});
}

std::uint32_t Recorder::kernel_name(const char* name) {
    if (name == nullptr) return 0;
    const std::lock_guard lock(names_mutex_);
    const auto [place, fresh] = kernel_names_.try_emplace(name, 0);
    if (fresh) {
        int failed = 0;
        const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, &failed),
                                                                   &std::free);
        const std::string_view shown = failed == 0 && readable ? readable.get() : name;
        place->second = file_.text(shown.substr(0, longest_kernel_name));
    }
    return place->second;
}

}  // namespace isthmus::tracer
