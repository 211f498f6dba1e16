// Calls of the runtime and the driver, as CUPTI tells of them while they begin and end.
#include <algorithm>
#include <utility>

#include "tracer/content.hpp"
#include "tracer/cuda/copy_place.hpp"
#include "tracer/cuda/recorder.hpp"
#include "tracer/host_work.hpp"
#include "tracer/thread_state.hpp"

namespace isthmus::tracer {
namespace {

// Behind the name of a call (src/isthmus/trace/recorded.py).
constexpr const char* accelerated = ", by isthmus accelerate";

// The call that a thread is in: the outermost, for the runtime calls the driver.
struct CallInProgress {
    // Calls within calls.
    unsigned depth = 0;
    int domain = 0;
    const void* frame = nullptr;  // on the stack of the recorder, when the call began
    Role role = Role::ignored;
    std::uint64_t start_ns = 0;
    std::uint32_t correlation = 0, site = 0;
    unsigned long accelerate_mark = 0;
    std::optional<CopyOperands> operands;
    CopyTiming::Period period = 0;
    // Calls within it of which only the device can tell what they copy.
    unsigned timed = 0;
    std::optional<Memory> memory;
    // When a copy of some megabytes began.
    std::optional<HostWork> work;
};
thread_local CallInProgress call;
// When the last of these of the thread had ended.
thread_local std::optional<HostWork> last_work;
// One that a later call showed to have been left by a jump out of a signal handler. Should it end after all, that
// handler itself had called CUDA.
thread_local CallInProgress left_call;

// Whether a call that begins now is made by the one in progress: the runtime calls the driver's functions one after the
// other, and nothing else is called from within.
bool is_nested(int domain, const void* frame) {
    return call.depth == 1 && call.domain == cupti::domain_runtime_api && domain == cupti::domain_driver_api &&
           frame <= call.frame;
}

trace::OperandsRecord operands_record(const CopyOperands& copied, std::uint32_t correlation, const CopyPlace& place,
                                      trace::Timing timing) {
    return {.source = copied.source,
            .destination = copied.destination,
            .bytes = copied.bytes,
            .content = 0,
            .correlation = correlation,
            .rows = copied.rows,
            .device = place.device,
            .stream = place.stream,
            .copy_kind = copied.copy_kind,
            .waited = 0,
            .timing = timing};
}

// Whether a call that has returned did what it was asked for.
bool succeeded(const cupti::CallbackData& data) {
    return data.returned == nullptr || *static_cast<const int*>(data.returned) == 0;
}

// Whether the call tells everything of its one copy but when the device made it.
bool is_plain(const CopyOperands& copied) {
    return copied.stream && copied.copy_kind != 0 && copied.copy_kind != cupti::memcpy_kind_ptop;
}

}  // namespace

const Function* Recorder::function(int domain, std::uint32_t number, const char* name) {
    if (number >= most_functions || name == nullptr) return nullptr;
    std::atomic<const Function*>& known = functions_[static_cast<std::size_t>(domain)][number];
    if (const Function* found = known.load(std::memory_order_acquire)) return found;
    auto made = std::make_unique<Function>(Function{.role = role_of(name), .copy = linear_copy(name)});
    if (made->role != Role::ignored) made->name = file_.text(name);
    if (made->role == Role::copy && accelerate_mark_ != nullptr) {
        made->accelerated_name = file_.text(std::string(name) + accelerated);
    }
    const Function* found = made.get();
    const std::lock_guard lock(functions_mutex_);
    made_functions_.push_back(std::move(made));
    known.store(found, std::memory_order_release);
    return found;
}

void Recorder::on_call(int domain, std::uint32_t number, const cupti::CallbackData& data) {
    const Function* called = function(domain, number, data.function);
    if (called == nullptr || called->role == Role::ignored) return;
    if (called->role == Role::launch) {
        if (data.site == cupti::api_enter) begin_launch();
        return;
    }
    if (called->role == Role::graph_launch) return launch_graph(domain, data);
    ThreadState& thread = ThreadState::of_this_thread(file_);
    if (thread.busy) return;
    thread.busy = true;
    // Also where memory runs out within.
    const std::unique_ptr<ThreadState, void (*)(ThreadState*)> done(&thread,
                                                                    [](ThreadState* state) { state->busy = false; });
    if (called->role == Role::graph) {
        expect_graph();
        if (data.site != cupti::api_enter && succeeded(data)) graphs_.returned(data.function, data.parameters);
        return;
    }
    if (data.site == cupti::api_enter) {
        if (call.depth > 0 && !is_nested(domain, __builtin_frame_address(0))) {
            for (; call.timed > 0; --call.timed) timing_.end_timed();
            left_call = std::exchange(call, {});
        }
        if (call.depth++ == 0) {
            call.domain = domain;
            call.frame = __builtin_frame_address(0);
            begin_outermost_call(*called, data);
        }
        begin_call(*called, data);
        return;
    }
    if (call.depth == 0 && left_call.depth > 0 && left_call.domain == domain &&
        left_call.correlation == data.correlation) {
        call = std::exchange(left_call, {});
        call.depth = 1;
    }
    if (call.depth > 0) end_call(thread, *called, data);
}

void Recorder::expect_kernels() {
    if (options_.kernels) expect(Activities::kernels);
}

bool Recorder::whole_graphs() {
    return options_.kernels && options_.kernels_share < 1.0 && expect(Activities::graphs);
}

void Recorder::expect_graph() {
    if (whole_graphs()) return;
    timing_.time_all();
    for (const Activities kind : {Activities::fills, Activities::peer_copies}) expect(kind);
    expect_kernels();
}

void Recorder::begin_launch() {
    expect_kernels();
    windows_.launched(1);
}

// Devices name what it does after the outermost call: the runtime's, where that calls the driver.
void Recorder::launch_graph(int domain, const cupti::CallbackData& data) {
    static thread_local std::uint32_t outermost = 0;
    const bool begins = data.site == cupti::api_enter;
    if (domain == cupti::domain_runtime_api) {
        outermost = begins ? data.correlation : 0;
        return;
    }
    static thread_local std::uint64_t begin_ns = 0;
    const std::shared_ptr<const Graphs::Contents> graph = graphs_.of(data.parameters);
    if (begins) {
        if (whole_graphs()) {
            graphs_launched_.fetch_add(1, std::memory_order_relaxed);
        } else {
            expect_kernels();
            if (options_.kernels) windows_.launched(graph ? graph->kernels : 1);
        }
        begin_ns = trace_clock();
        return;
    }
    if (!succeeded(data) || !graph || graph->copies.empty()) return;
    write_copies(*graph, data, outermost != 0 ? outermost : data.correlation, begin_ns);
}

void Recorder::write_copies(const Graphs::Contents& graph, const cupti::CallbackData& data, std::uint32_t correlation,
                            std::uint64_t begin_ns) {
    ThreadState& thread = ThreadState::of_this_thread(file_);
    if (thread.busy) return;
    thread.writer->write(trace::CallRecord{.start_ns = begin_ns,
                                           .end_ns = trace_clock(),
                                           .correlation = correlation,
                                           .thread = thread.thread,
                                           .name = file_.text(data.function),
                                           .site = sites_.known() ? sites_.here() : 0});
    for (CopyOperands copied : graph.copies) {
        copied.stream = Graphs::stream_of(data.parameters);
        const CopyPlace place = place_of(api_, copied, data.context);
        thread.writer->write(operands_record(copied, correlation, place, trace::Timing::graph));
    }
}

void Recorder::begin_outermost_call(const Function& function, const cupti::CallbackData& data) {
    calls_under_way_.fetch_add(1, std::memory_order_relaxed);
    call.role = function.role;
    call.correlation = data.correlation;
    call.accelerate_mark = accelerate_mark_ != nullptr ? accelerate_mark_() : 0;
    call.operands.reset();
    call.memory.reset();
    call.work.reset();
    call.site = sites_.known() ? sites_.here() : 0;
    call.start_ns = trace_clock();
}

void Recorder::begin_call(const Function& function, const cupti::CallbackData& data) {
    if (function.role == Role::copy && !call.operands) {
        call.operands = function.copy ? copy_operands(*function.copy, data.parameters)
                                      : copy_operands(data.function, data.parameters);
        if (call.operands && call.operands->bytes >= least_asked_bytes) call.work = HostWork::now();
        const bool plain = call.operands && is_plain(*call.operands);
        if (plain) {
            call.period = timing_.begin(call.start_ns);
        } else {
            expect(Activities::peer_copies);
            timing_.begin_timed();
            ++call.timed;
        }
    }
    if (function.role == Role::fill) expect(Activities::fills);
    // Before the call, which may make the address another's.
    if (function.role == Role::release && !call.memory) call.memory = memory_of(data.function, data.parameters);
}

void Recorder::end_call(ThreadState& thread, const Function& function, const cupti::CallbackData& data) {
    if (call.role == Role::allocate && !call.memory && succeeded(data)) {
        call.memory = memory_of(data.function, data.parameters);
    }
    if (--call.depth > 0) return;
    calls_under_way_.fetch_sub(1, std::memory_order_relaxed);
    for (; call.timed > 0; --call.timed) timing_.end_timed();
    const std::uint64_t end_ns = trace_clock();
    const bool by_accelerator =
        function.accelerated_name != 0 && (call.accelerate_mark % 2 != 0 || accelerate_mark_() != call.accelerate_mark);
    thread.writer->write(trace::CallRecord{.start_ns = call.start_ns,
                                           .end_ns = end_ns,
                                           .correlation = call.correlation,
                                           .thread = thread.thread,
                                           .name = by_accelerator ? function.accelerated_name : function.name,
                                           .site = call.site});
    if (call.operands && succeeded(data)) {
        const CopyOperands& copied = *call.operands;
        trace::OperandsRecord record =
            operands_record(copied, call.correlation, {.device = 0, .stream = 0}, trace::Timing::always);
        if (is_plain(copied)) record.timing = timing_.since(call.period);
        // Once launches are listened to for a part of the time, CUPTI mistakes copies for earlier ones of their
        // threads.
        if (windows_.begun()) {
            if (record.timing == trace::Timing::timed) record.timing = trace::Timing::maybe;
            if (record.timing == trace::Timing::always && copied.copy_kind != 0) record.timing = trace::Timing::graph;
        }
        // Devices tell of the parts that it was made in, by other calls than the program's.
        if (by_accelerator && is_plain(copied)) record.timing = trace::Timing::none;
        if (record.timing != trace::Timing::always && record.timing != trace::Timing::timed) {
            const CopyPlace place = place_of(api_, copied, data.context);
            record.device = place.device;
            record.stream = place.stream;
        }
        if (options_.contents && copied.rows == 1) {
            // Of copies from the device only what has arrived: an asynchronous one may still be on its way, unless it
            // goes to ordinary memory, for which the driver waits.
            const bool sent = copied.copy_kind == cupti::memcpy_kind_htod;
            const bool arrived = copied.copy_kind == cupti::memcpy_kind_dtoh &&
                                 (std::string_view(data.function).find("Async") == std::string_view::npos ||
                                  is_ordinary_memory(copied.destination));
            const std::uint64_t host = sent ? copied.source : arrived ? copied.destination : 0;
            if (host != 0) record.content = content_hash(reinterpret_cast<const void*>(host), copied.bytes);
        }
        thread.writer->write(record);
        if (call.work) {
            const HostWork ended = HostWork::now();
            if (last_work) {
                thread.writer->write(trace::HostWorkRecord{.system_ns = call.work->system_ns - last_work->system_ns,
                                                           .running_ns = ended.running_ns - call.work->running_ns,
                                                           .correlation = call.correlation,
                                                           .faults = static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                                               call.work->faults - last_work->faults, UINT32_MAX))});
            }
            last_work = ended;
        }
    }
    if (call.memory && succeeded(data)) {
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
