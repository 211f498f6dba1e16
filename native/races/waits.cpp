// What each call of the driver says of waits, order and memory.
#include <algorithm>
#include <array>
#include <cstdint>

#include "interpose/foreign_process.hpp"
#include "races/calls.hpp"

namespace isthmus::races {
namespace {

using cuda::ReturnCode;

// What a launch with attributes records and where: the driver's CUlaunchConfig and CUlaunchAttribute.
struct Launched {
    static constexpr unsigned most_events = 2;
    std::uintptr_t stream;
    unsigned events;
    std::array<std::uintptr_t, most_events> event;
};
Launched launched_by(const Words& words) {
    constexpr std::size_t stream_at = 32, attributes_at = 40, count_at = 48, attribute_bytes = 72, value_at = 8;
    constexpr unsigned programmatic_event = 7, completion_event = 12, most_attributes = 64;
    Launched launched{0, 0, {}};
    if (words[0] == 0) return launched;
    launched.stream = read_at<std::uintptr_t>(words[0] + stream_at);
    const auto attributes = read_at<std::uintptr_t>(words[0] + attributes_at);
    const auto count = std::min(read_at<unsigned>(words[0] + count_at), most_attributes);
    for (unsigned i = 0; i < count && attributes != 0 && launched.events < Launched::most_events; ++i) {
        const std::uintptr_t attribute = attributes + i * attribute_bytes;
        const auto kind = read_at<unsigned>(attribute);
        if (kind != programmatic_event && kind != completion_event) continue;
        launched.event[launched.events++] = read_at<std::uintptr_t>(attribute + value_at);
    }
    return launched;
}

// Whether nothing is known by a call before the driver has it.
bool is_known_after(Effect effect) {
    switch (effect) {
        case Effect::wait_for_stream:
        case Effect::wait_for_event:
        case Effect::wait_for_events:
        case Effect::order_all_behind_event:
        case Effect::create_stream:
        case Effect::create_event:
        case Effect::allocate:
        case Effect::allocate_rows:
        case Effect::map:
        case Effect::allocate_host:
        case Effect::lock_host:
        case Effect::end_capture: return true;
        default: return false;
    }
}
bool is_known_before(Effect effect) {
    switch (effect) {
        case Effect::record_event:
        case Effect::order_behind_event:
        case Effect::begin_capture: return false;
        default: return !is_known_after(effect);
    }
}

// Whether the properties that memory or a pool of it is made by say that it is the host's: CUmemAllocationProp,
// CUmemPoolProps and CUmemLocation.
bool is_of_host(const Called& called, const Words& words) {
    constexpr std::size_t location_at = 8;
    constexpr unsigned first_of_host = 2, last_of_host = 4;
    std::uintptr_t location = words[1];
    if (called.symbol == Symbol::cuMemCreate) location = words[2] == 0 ? 0 : words[2] + location_at;
    if (called.symbol == Symbol::cuMemPoolCreate) location = words[1] == 0 ? 0 : words[1] + location_at;
    if (location == 0) return false;
    const auto kind = read_at<unsigned>(location);
    return kind >= first_of_host && kind <= last_of_host;
}

bool has_stream(Effect effect) {
    switch (effect) {
        case Effect::other_copy:
        case Effect::record_event:
        case Effect::order_behind_event:
        case Effect::launch:
        case Effect::launch_with:
        case Effect::launch_graph:
        case Effect::wait_for_stream:
        case Effect::signal:
        case Effect::wait_for_value: return true;
        default: return false;
    }
}

void note_made(const Called& called, const Words& words) {
    // What the program was given is in its memory: read without the lock.
    if (called.effect == Effect::create_stream) {
        const auto made = read_at<std::uintptr_t>(words[0]);
        begin();
        const Locked state;
        state->order.begin(made, (static_cast<unsigned>(words[1]) & cuda::stream_non_blocking) == 0);
        return;
    }
    if (called.effect == Effect::create_event) {
        const auto made = read_at<std::uintptr_t>(words[0]);
        const Locked state;
        state->order.create(made);
        return;
    }
    if (called.effect == Effect::allocate || called.effect == Effect::allocate_rows || called.effect == Effect::map) {
        const bool has_rows = called.effect == Effect::allocate_rows;
        const auto made = called.effect == Effect::map ? words[0] : read_at<std::uintptr_t>(words[0]);
        const auto bytes = has_rows ? read_at<std::size_t>(words[1]) * words[3] : words[1];
        const Locked state;
        state->accesses.forget({made, made + bytes});
    }
    if (called.effect == Effect::allocate_host) {
        const auto made = read_at<std::uintptr_t>(words[0]);
        begin();
        // Kernels may be given such memory to write.
        const bool is_shared = called.symbol == Symbol::cuMemHostAlloc &&
                               (static_cast<unsigned>(words[2]) & cuda::host_alloc_device_map) != 0;
        interpose::guarded([&] { add_block({made, made + words[1]}, false); });
        if (!is_shared) return;
        const Locked state;
        state->kernels_signal = true;
    }
    if (called.effect == Effect::lock_host) {
        begin();
        interpose::guarded([&] { add_block({words[0], words[0] + words[1]}, true); });
        if ((static_cast<unsigned>(words[2]) & cuda::host_register_device_map) == 0) return;
        const Locked state;
        state->kernels_signal = true;
    }
}

}  // namespace

void note_before(const Called& called, const Words& words, std::uintptr_t stream) {
    if (is_known_after(called.effect)) return;
    const Launched launched = called.effect == Effect::launch_with ? launched_by(words) : Launched{stream, 0, {}};
    const bool is_launch = called.effect == Effect::launch || called.effect == Effect::launch_with;
    if (is_launch && launched.events == 0 && is_launch_quiet()) return;
    const bool is_shared = called.effect == Effect::allocate_anywhere && is_of_host(called, words);
    const Locked state;
    Copies& copies = state->copies;
    const Line line = has_stream(called.effect) ? state->order.arrive(launched.stream) : default_line;
    switch (called.effect) {
        case Effect::other_copy: state->finish(state->order.clock(line)); break;
        case Effect::blocking_other: state->finish(state->order.clock(state->order.arrive(0))); break;
        case Effect::free_host:
            state->finish_all();
            copies.forget_blocks({words[0], words[0] + 1});
            break;
        case Effect::wait_for_all: state->finish_all(); break;
        case Effect::end_context:
            state->finish_all();
            copies.forget_blocks({0, UINTPTR_MAX});
            break;
        case Effect::destroy_stream: state->order.end(words[0]); break;
        case Effect::destroy_event: state->order.forget(words[0]); break;
        case Effect::record_event:
            if (state->captures != 0) state->order.lose(words[0]);
            state->order.begin_recording(words[0], line);
            break;
        case Effect::record_on_all: state->order.lose(words[1]); break;
        case Effect::order_behind_event: state->order.wait(line, state->order.held_by(words[1])); break;
        case Effect::begin_capture: ++state->captures; break;
        case Effect::launch:
        case Effect::launch_with:
            for (unsigned i = 0; i < launched.events; ++i) state->order.lose(launched.event[i]);
            if (state->devices_meet) state->order.launch_among_devices(line);
            state->has_launched = true;
            if (state->kernels_signal || copies.any_uncopied())
                state->let_go("a kernel may write what the host or a stream waits for");
            break;
        case Effect::launch_graph:
            state->order.launch_graph(line);
            if (state->devices_meet) state->order.launch_among_devices(line);
            state->has_launched = true;
            if (state->kernels_signal || state->graphs_signal || copies.any_uncopied())
                state->let_go("a graph may say to the host how far it is");
            break;
        case Effect::signal:
            state->graphs_signal = state->graphs_signal || state->captures != 0;
            state->let_go("a host function or a value that a stream writes may say to the host how far it is",
                          state->captures != 0 ? Clock::everything() : state->order.clock(line));
            break;
        case Effect::signal_in_graph: state->graphs_signal = true; break;
        case Effect::allocate_anywhere:
            if (!is_shared) break;
            [[fallthrough]];
        case Effect::share_memory:
            state->kernels_signal = true;
            if (state->has_launched) state->let_go("a kernel may write what the host or a stream waits for");
            break;
        case Effect::share_devices: state->devices_meet = true; break;
        case Effect::wait_for_value:
            // A word of the device may be written by anything there.
            if (!copies.in_block({words[1], words[1] + 1})) return state->stop(called.name);
            state->kernels_signal = true;
            if (state->has_launched) state->let_go("a kernel may write what the host or a stream waits for");
            state->order.hold(line);
            break;
        case Effect::cannot_be_followed: state->stop(called.name); break;
        default: break;
    }
}

void note_after(const Called& called, const Words& words, std::uintptr_t stream, ReturnCode code) {
    if (is_known_before(called.effect)) return;
    const bool is_done = code == cuda::success;
    if (is_done) note_made(called, words);
    const Locked state;
    const Line line = has_stream(called.effect) ? state->order.arrive(stream) : default_line;
    switch (called.effect) {
        case Effect::wait_for_stream:
            if (is_done) state->finish(state->order.clock(line));
            break;
        case Effect::wait_for_event:
            if (is_done) state->finish(state->order.held_by(words[0]));
            break;
        case Effect::wait_for_events:
            if (!is_done) break;
            state->finish(state->order.held_by(words[1]));
            state->finish(state->order.held_by(words[2]));
            break;
        case Effect::record_event: state->order.end_recording(words[0], line, is_done); break;
        case Effect::order_behind_event: state->order.wait(line, state->order.held_by(words[1])); break;
        case Effect::order_all_behind_event: state->order.wait_on_all_lines(state->order.held_by(words[1])); break;
        case Effect::begin_capture:
            if (!is_done && state->captures > 0) --state->captures;
            break;
        case Effect::end_capture: {
            const bool is_lost =
                code == cuda::error_stream_capture_invalidated || code == cuda::error_stream_capture_unjoined;
            if ((is_done || is_lost) && state->captures > 0) --state->captures;
            break;
        }
        default: break;
    }
    // Nothing is unfinished any more, or it cannot be known.
    const bool is_failed = !is_done && code != cuda::error_not_ready;
    const bool is_wait = called.effect == Effect::wait_for_stream || called.effect == Effect::wait_for_event;
    if (is_failed && is_wait) state->finish_all();
}

}  // namespace isthmus::races
