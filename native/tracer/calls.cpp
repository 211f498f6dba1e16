// Calls of the runtime and the driver, as CUPTI tells of them while they begin and end.
#include "tracer/content.hpp"
#include "tracer/recorder.hpp"
#include "tracer/thread_state.hpp"

namespace isthmus::tracer {

Role Recorder::role(int domain, std::uint32_t number, const char* function) {
    if (number >= most_functions) return role_of(function);
    std::atomic<std::uint8_t>& known = roles_[static_cast<std::size_t>(domain)][number];
    if (const std::uint8_t found = known.load(std::memory_order_relaxed); found != 0) {
        return static_cast<Role>(found - 1);
    }
    const Role found = role_of(function);
    known.store(static_cast<std::uint8_t>(static_cast<unsigned>(found) + 1), std::memory_order_relaxed);
    return found;
}

std::uint32_t Recorder::name(int domain, std::uint32_t number, const char* function) {
    if (number >= most_functions) return file_->text(function);
    std::atomic<std::uint32_t>& known = names_[static_cast<std::size_t>(domain)][number];
    if (const std::uint32_t found = known.load(std::memory_order_relaxed); found != 0) return found;
    const std::uint32_t found = file_->text(function);
    known.store(found, std::memory_order_relaxed);
    return found;
}

void Recorder::on_call(int domain, std::uint32_t number, const cupti::CallbackData& data) {
    const Role found = role(domain, number, data.function);
    if (found == Role::ignored) return;
    ThreadState& thread = ThreadState::of_this_thread(*file_);
    if (thread.busy) return;
    thread.busy = true;
    if (data.site == cupti::api_enter) {
        begin_call(thread, found, data);
    } else if (thread.depth > 0) {
        end_call(thread, domain, number, data);
    }
    thread.busy = false;
}

void Recorder::begin_call(ThreadState& thread, Role role, const cupti::CallbackData& data) {
    if (thread.depth++ == 0) {
        thread.role = role;
        thread.correlation = data.correlation;
        thread.operands.reset();
        thread.memory.reset();
        // Launches are many, and of no interest here but for when they were.
        thread.site = role != Role::launch && sites_.known() ? sites_.here() : 0;
        thread.start_ns = trace_clock();
    }
    if (role == Role::copy && !thread.operands) {
        thread.operands = copy_operands(data.function, data.parameters);
    }
    // Before the call, which may make the address another's.
    if (role == Role::release && !thread.memory) thread.memory = memory_of(data.function, data.parameters);
}

void Recorder::end_call(ThreadState& thread, int domain, std::uint32_t number, const cupti::CallbackData& data) {
    const bool succeeded = data.returned == nullptr || *static_cast<const int*>(data.returned) == 0;
    if (thread.role == Role::allocate && !thread.memory && succeeded) {
        thread.memory = memory_of(data.function, data.parameters);
    }
    if (--thread.depth > 0) return;
    const std::uint64_t end_ns = trace_clock();
    thread.writer->write(trace::CallRecord{.start_ns = thread.start_ns,
                                           .end_ns = end_ns,
                                           .correlation = thread.correlation,
                                           .thread = thread.thread,
                                           .name = name(domain, number, data.function),
                                           .site = thread.site});
    if (thread.operands && succeeded) {
        const CopyOperands& copied = *thread.operands;
        trace::OperandsRecord record{.source = copied.source,
                                     .destination = copied.destination,
                                     .bytes = copied.bytes,
                                     .content = 0,
                                     .correlation = thread.correlation,
                                     .rows = copied.rows,
                                     .copy_kind = copied.copy_kind,
                                     .padding = 0};
        if (options_.contents && copied.rows == 1) {
            // Of copies from the device only what has arrived: an asynchronous one may still be on its way.
            const bool sent = copied.copy_kind == cupti::memcpy_kind_htod;
            const bool arrived = copied.copy_kind == cupti::memcpy_kind_dtoh &&
                                 std::string_view(data.function).find("Async") == std::string_view::npos;
            const std::uint64_t host = sent ? copied.source : arrived ? copied.destination : 0;
            if (host != 0) record.content = content_hash(reinterpret_cast<const void*>(host), copied.bytes);
        }
        thread.writer->write(record);
    }
    if (thread.memory && succeeded) {
        thread.writer->write(
            trace::AllocationRecord{.start_ns = thread.start_ns,
                                    .end_ns = end_ns,
                                    .address = thread.memory->address,
                                    .bytes = thread.memory->bytes,
                                    .correlation = thread.correlation,
                                    .memory = thread.memory->kind,
                                    .release = static_cast<std::uint16_t>(thread.role == Role::release ? 1 : 0)});
    }
}

}  // namespace isthmus::tracer
