// A command queue of the program.
#include "tracer/opencl/queue.hpp"

#include <algorithm>
#include <iterator>

#include "tracer/opencl/originals.hpp"
#include "tracer/part.hpp"

namespace isthmus::tracer {
namespace {

// Looked at in one go. Nothing is locked meanwhile: what OpenCL releases may call the program back.
constexpr std::size_t batch = 16;
// Behind so many, one that never begins may hold up what is complete: all are looked at now and then.
constexpr std::size_t many = 4096;

bool profiled(opencl::Event event, DeviceTimes& times) {
    const auto& info = originals().clGetEventProfilingInfo;
    const auto ask = [&](std::uint32_t what, std::uint64_t& time) {
        return info && info(event, what, sizeof time, &time, nullptr) == opencl::success;
    };
    return ask(opencl::profiling_command_queued, times.queued_ns) &&
           ask(opencl::profiling_command_start, times.start_ns) && ask(opencl::profiling_command_end, times.end_ns) &&
           times.start_ns != 0;
}

}  // namespace

void CommandQueue::add(const PendingCommand& pending) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(pending);
}

bool CommandQueue::empty() {
    const std::lock_guard lock(mutex_);
    return pending_.empty();
}

void CommandQueue::collect(trace::TraceFile& file, trace::Writer& writer, bool whole) {
    std::vector<PendingCommand> taken, kept;
    do {
        taken.clear();
        {
            const std::lock_guard lock(mutex_);
            whole = whole || (!pending_.empty() && pending_.size() % many == 0);
            const auto end = pending_.begin() +
                             static_cast<std::ptrdiff_t>(whole ? pending_.size() : std::min(pending_.size(), batch));
            taken.assign(pending_.begin(), end);
            pending_.erase(pending_.begin(), end);
        }
        for (const PendingCommand& each : taken) {
            const bool later = !whole && !kept.empty();
            if (later || !write(each, file, writer)) kept.push_back(each);
        }
    } while (!whole && !taken.empty() && kept.empty());
    if (kept.empty()) return;
    const std::lock_guard lock(mutex_);
    pending_.insert(pending_.begin(), kept.begin(), kept.end());
}

bool CommandQueue::write(const PendingCommand& pending, trace::TraceFile& file, trace::Writer& writer) {
    std::int32_t status = opencl::complete;
    const auto& info = originals().clGetEventInfo;
    const bool known = info && info(pending.event, opencl::event_command_execution_status, sizeof status, &status,
                                    nullptr) == opencl::success;
    if (known && status > opencl::complete) return false;
    const std::uint64_t seen_ns = pending.waited ? pending.call_end_ns : monotonic_ns();
    // Less is the code of an error: nothing was moved.
    if (known && status == opencl::complete) {
        DeviceTimes times{};
        if (profiled(pending.event, times)) {
            write(pending, device_.clock.on_trace_clock(times, {pending.call_start_ns, pending.call_end_ns, seen_ns}),
                  writer);
        } else {
            [[maybe_unused]] static const bool noted =
                (file.note("Some queues of OpenCL keep no times: their commands have those of their calls."), true);
            write(pending, {pending.call_start_ns, seen_ns}, writer);
        }
    }
    originals().clReleaseEvent(pending.event);
    return true;
}

void CommandQueue::write(const PendingCommand& pending, const Interval& when, trace::Writer& writer) const {
    const Command& command = pending.command;
    switch (command.what) {
        case Command::What::copy:
            writer.write(trace::CopyRecord{.start_ns = when.start_ns,
                                           .end_ns = when.end_ns,
                                           .bytes = command.bytes,
                                           .correlation = pending.correlation,
                                           .device = device_.index,
                                           .peer = device_.index,
                                           .stream = stream_,
                                           .copy_kind = command.copy_kind,
                                           .source = command.source.kind,
                                           .destination = command.destination.kind,
                                           .flags = static_cast<std::uint8_t>(pending.waited ? 0 : 1),
                                           .count = 1});
            break;
        case Command::What::fill:
            writer.write(trace::MemsetRecord{.start_ns = when.start_ns,
                                             .end_ns = when.end_ns,
                                             .bytes = command.bytes,
                                             .correlation = pending.correlation,
                                             .device = device_.index,
                                             .stream = stream_,
                                             .padding = 0});
            break;
        case Command::What::kernel:
            writer.write(trace::KernelRecord{.start_ns = when.start_ns,
                                             .end_ns = when.end_ns,
                                             .correlation = pending.correlation,
                                             .device = device_.index,
                                             .stream = stream_,
                                             .name = command.name});
            break;
        case Command::What::nothing: break;
    }
}

}  // namespace isthmus::tracer
