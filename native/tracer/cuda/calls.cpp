// Calls of the runtime and the driver, as CUPTI tells of them while they begin and end.
#include "tracer/content.hpp"
#include "tracer/cuda/recorder.hpp"
#include "tracer/thread_state.hpp"

namespace isthmus::tracer {
namespace {

// The call that a thread is in: the outermost, for the runtime calls the driver.
struct CallInProgress {
    // Calls within calls.
    unsigned depth = 0;
    Role role = Role::ignored;
    std::uint64_t start_ns = 0;
    std::uint32_t correlation = 0, site = 0;
    std::optional<CopyOperands> operands;
    std::optional<Memory> memory;
};
thread_local CallInProgress call;

}  // namespace

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
    if (number >= most_functions) return file_.text(function);
    std::atomic<std::uint32_t>& known = names_[static_cast<std::size_t>(domain)][number];
    if (const std::uint32_t found = known.load(std::memory_order_relaxed); found != 0) return found;
    const std::uint32_t found = file_.text(function);
    known.store(found, std::memory_order_relaxed);
    return found;
}

void Recorder::on_call(int domain, std::uint32_t number, const cupti::CallbackData& data) {
    const Role found = role(domain, number, data.function);
    if (found == Role::ignored) return;
    ThreadState& thread = ThreadState::of_this_thread(file_);
    if (thread.busy) return;
    thread.busy = true;
    if (data.site == cupti::api_enter) {
        begin_call(found, data);
    } else if (call.depth > 0) {
        end_call(thread, domain, number, data);
    }
    thread.busy = false;
}

void Recorder::begin_call(Role role, const cupti::CallbackData& data) {
    if (call.depth++ == 0) {
        call.role = role;
        call.correlation = data.correlation;
        call.operands.reset();
        call.memory.reset();
        // Launches are many, and of no interest here but for when they were.
        call.site = role != Role::launch && sites_.known() ? sites_.here() : 0;
        call.start_ns = trace_clock();
    }
    if (role == Role::copy && !call.operands) {
        call.operands = copy_operands(data.function, data.parameters);
    }
    // Before the call, which may make the address another's.
    if (role == Role::release && !call.memory) call.memory = memory_of(data.function, data.parameters);
}

void Recorder::end_call(ThreadState& thread, int domain, std::uint32_t number, const cupti::CallbackData& data) {
    const bool succeeded = data.returned == nullptr || *static_cast<const int*>(data.returned) == 0;
    if (call.role == Role::allocate && !call.memory && succeeded) {
        call.memory = memory_of(data.function, data.parameters);
    }
    if (--call.depth > 0) return;
    const std::uint64_t end_ns = trace_clock();
    thread.writer->write(trace::CallRecord{.start_ns = call.start_ns,
                                           .end_ns = end_ns,
                                           .correlation = call.correlation,
                                           .thread = thread.thread,
                                           .name = name(domain, number, data.function),
                                           .site = call.site});
    if (call.operands && succeeded) {
        const CopyOperands& copied = *call.operands;
        trace::OperandsRecord record{.source = copied.source,
                                     .destination = copied.destination,
                                     .bytes = copied.bytes,
                                     .content = 0,
                                     .correlation = call.correlation,
                                     .rows = copied.rows,
                                     .copy_kind = copied.copy_kind,
                                     .waited = 0};
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
    if (call.memory && succeeded) {
        thread.writer->write(
            trace::AllocationRecord{.start_ns = call.start_ns,
                                    .end_ns = end_ns,
                                    .address = call.memory->address,
                                    .bytes = call.memory->bytes,
                                    .correlation = call.correlation,
                                    .memory = call.memory->kind,
                                    .release = static_cast<std::uint16_t>(call.role == Role::release ? 1 : 0)});
    }
}

}  // namespace isthmus::tracer
