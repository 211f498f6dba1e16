// One call of the program's.
#include "tracer/opencl/call.hpp"

#include <utility>

namespace isthmus::tracer {

Outermost::Outermost(const CommandRecorder* recorder) noexcept {
    if (recorder == nullptr) return;
    interpose::guarded([&] {
        ThreadState& thread = ThreadState::of_this_thread(recorder->file());
        if (!std::exchange(thread.busy, true)) thread_ = &thread;
    });
}

Call::Call(const char* name, bool launches) noexcept : recorder_(CommandRecorder::current()), outermost_(recorder_) {
    if (outermost_.thread() == nullptr) return;
    interpose::guarded([&] {
        name_ = recorder_->file().text(name);
        CallSites& sites = recorder_->sites();
        site_ = !launches && sites.known() ? sites.here() : 0;
    });
    correlation_ = recorder_->next_correlation();
    start_ns_ = monotonic_ns();
}

void Call::end() noexcept {
    interpose::guarded([this] {
        end_ns_ = monotonic_ns();
        outermost_.thread()->writer->write(trace::CallRecord{.start_ns = start_ns_,
                                                             .end_ns = end_ns_,
                                                             .correlation = correlation_,
                                                             .thread = outermost_.thread()->thread,
                                                             .name = name_,
                                                             .site = site_});
    });
}

void Call::add(opencl::Queue queue, bool waited, opencl::Event event, bool ours, const Command& command) const {
    if (command.what == Command::What::copy) {
        outermost_.thread()->writer->write(trace::OperandsRecord{.source = command.source.address,
                                                                 .destination = command.destination.address,
                                                                 .bytes = command.bytes,
                                                                 .content = command.content,
                                                                 .correlation = correlation_,
                                                                 .rows = command.rows,
                                                                 .device = 0,
                                                                 .stream = 0,
                                                                 .copy_kind = command.copy_kind,
                                                                 .waited = static_cast<std::uint16_t>(waited ? 2 : 1),
                                                                 .timing = trace::Timing::always});
    }
    const bool kept = command.what != Command::What::nothing;
    // The program may let go of its own event before the command is complete.
    if (kept && !ours && passed_on(originals().clRetainEvent, event) != opencl::success) return;
    if (!kept) {
        if (ours) originals().clReleaseEvent(event);
        return;
    }
    const std::shared_ptr<CommandQueue> found = recorder_->queue(queue);
    found->add({.command = command,
                .event = event,
                .correlation = correlation_,
                .waited = waited,
                .call_start_ns = start_ns_,
                .call_end_ns = end_ns_});
    found->collect(recorder_->file(), *outermost_.thread()->writer, waited);
}

void Call::add(const Range& memory, bool released) const {
    outermost_.thread()->writer->write(
        trace::AllocationRecord{.start_ns = start_ns_,
                                .end_ns = end_ns_,
                                .address = memory.place.address,
                                .bytes = memory.bytes,
                                .correlation = correlation_,
                                .memory = memory.place.kind,
                                .release = static_cast<std::uint16_t>(released ? 1 : 0)});
}

void Call::collect(opencl::Queue queue) const {
    interpose::guarded([&] {
        if (queue == nullptr) {
            recorder_->collect(false);
        } else {
            recorder_->queue(queue)->collect(recorder_->file(), *outermost_.thread()->writer, true);
        }
    });
}

}  // namespace isthmus::tracer
