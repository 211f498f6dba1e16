// Races between copies and fills of a program, by the order that its calls ask for.
#include "tracer/cuda/races.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>

#include "tracer/cuda/copy_place.hpp"
#include "tracer/cuda/functions.hpp"

namespace isthmus::tracer {
namespace {

constexpr std::uint64_t last_legacy_handle = 1, stream_of_thread = 2;
constexpr unsigned flag_non_blocking = 1;
// Texts of places without end come from programs that write code as they run.
constexpr std::size_t most_places = 100'000;

// What orders: where its parameters have what it is called for.
enum class Edge : std::uint8_t {
    record,         // an event, behind a stream
    wait,           // a stream, for an event
    host_event,     // the host, for an event: it waits, or asks and is answered that it has passed
    host_stream,    // likewise for a stream
    host_all,       // likewise for all of them; freeing does that, too
    host_function,  // the host does something behind a stream, and may go on from there
    create,
    destroy,
    forget_event,
    new_memory,  // at an address that may have been other memory's
    capture,     // what streams are given is not done, until it ends
    end_capture,
    unknown,  // an order that no call shows
};
struct EdgeOf {
    std::string_view prefix;
    Edge edge;
};
// The first that fits.
constexpr std::array edges{
    EdgeOf{"cuEventRecord", Edge::record},
    EdgeOf{"cuStreamWaitEvent", Edge::wait},
    EdgeOf{"cuEventSynchronize", Edge::host_event},
    EdgeOf{"cuEventQuery", Edge::host_event},
    EdgeOf{"cuEventDestroy", Edge::forget_event},
    EdgeOf{"cuStreamSynchronize", Edge::host_stream},
    EdgeOf{"cuStreamQuery", Edge::host_stream},
    EdgeOf{"cuCtxSynchronize", Edge::host_all},
    EdgeOf{"cuMemFreeAsync", Edge::new_memory},
    EdgeOf{"cuMemFree", Edge::host_all},
    EdgeOf{"cuLaunchHostFunc", Edge::host_function},
    EdgeOf{"cuStreamAddCallback", Edge::host_function},
    EdgeOf{"cuStreamCreate", Edge::create},
    EdgeOf{"cuStreamDestroy", Edge::destroy},
    EdgeOf{"cuMemAlloc", Edge::new_memory},
    EdgeOf{"cuMemHostAlloc", Edge::new_memory},
    EdgeOf{"cuMemHostRegister", Edge::new_memory},
    EdgeOf{"cuMemMap", Edge::new_memory},
    EdgeOf{"cuMemUnmap", Edge::new_memory},
    EdgeOf{"cuStreamBeginCapture", Edge::capture},
    EdgeOf{"cuStreamEndCapture", Edge::end_capture},
    EdgeOf{"cuStreamWaitValue", Edge::unknown},
    EdgeOf{"cuStreamBatchMemOp", Edge::unknown},
    EdgeOf{"cuWaitExternalSemaphores", Edge::unknown},
    EdgeOf{"cuGraphAddEventRecordNode", Edge::unknown},
    EdgeOf{"cuGraphAddEventWaitNode", Edge::unknown},
    EdgeOf{"cuGreenCtxStreamCreate", Edge::unknown},
};

std::optional<Edge> edge_of(std::string_view function) {
    const auto* const known =
        std::find_if(edges.begin(), edges.end(), [&](const EdgeOf& each) { return function.starts_with(each.prefix); });
    return known == edges.end() ? std::nullopt : std::optional(known->edge);
}

// A fill of one row: the bytes of what it repeats.
struct Fill {
    std::string_view prefix;
    std::uint64_t element_bytes;
};
constexpr std::array fills{Fill{"cuMemsetD8", 1}, Fill{"cuMemsetD16", 2}, Fill{"cuMemsetD32", 4}};

Access range(std::uint64_t begin, std::uint64_t bytes, bool is_write) {
    Access access;
    access.begin = begin;
    access.end = begin + bytes;
    access.is_write = is_write;
    return access;
}
bool is_asynchronous(std::string_view function) {
    return function.find("Async") != std::string_view::npos;
}
bool has_thread_stream(std::string_view function) {
    return function.find("_ptsz") != std::string_view::npos || function.find("_ptds") != std::string_view::npos;
}

}  // namespace

bool Races::follows(std::string_view function) {
    return function.starts_with("cuMemcpy") || function.starts_with("cuMemset") || edge_of(function).has_value();
}

void Races::on_call(const cupti::CallbackData& data, trace::Writer& writer) {
    const std::string_view function = data.function;
    const std::lock_guard lock(mutex_);
    if (is_blind_ || follow_edge(function, data) || captures_ > 0) return;
    if (function.starts_with("cuMemcpy")) copy(function, data, writer);
    if (function.starts_with("cuMemset")) fill(function, data, writer);
}

Line Races::line_of(std::uint64_t handle, bool of_thread) {
    // Those of several contexts count as one: a race may stay unseen, and none is made up.
    std::uint64_t key = handle;
    Order::Kind kind = Order::Kind::blocking_stream;
    if (handle == stream_of_thread || (handle == 0 && of_thread)) {
        key = static_cast<std::uint64_t>(pthread_self()) | 1U;  // handles of streams are even
    } else if (handle <= last_legacy_handle) {
        key = 0;
        kind = Order::Kind::legacy_stream;
    }
    const auto known = streams_.find(key);
    if (known != streams_.end()) return known->second;
    return streams_.emplace(key, order_.begin(kind)).first->second;
}

void Races::stop(std::string_view function) {
    is_blind_ = true;
    file_.note("Races were looked for until " + std::string(function) +
               " was called: what that waits for cannot be followed.");
}

// Whether the call is one that orders, and no copy.
bool Races::follow_edge(std::string_view function, const cupti::CallbackData& data) {
    const std::optional<Edge> edge = edge_of(function);
    if (!edge) return false;
    const void* const parameters = data.parameters;
    const bool of_thread = has_thread_stream(function);
    const auto first = [&] { return at<std::uint64_t>(parameters, 0); };
    const auto second = [&] { return at<std::uint64_t>(parameters, 8); };
    if (captures_ > 0 && *edge != Edge::capture && *edge != Edge::end_capture && *edge != Edge::unknown) return true;
    switch (*edge) {
        case Edge::record: {
            const Line stream = line_of(second(), of_thread);
            order_.enqueue(host_, stream);
            events_[first()] = order_.recorded(stream);
            break;
        }
        case Edge::wait: {
            const Line stream = line_of(first(), of_thread);
            order_.enqueue(host_, stream);
            if (const auto event = events_.find(second()); event != events_.end()) order_.wait(stream, event->second);
            break;
        }
        case Edge::host_event:
            if (const auto event = events_.find(first()); event != events_.end()) order_.wait(host_, event->second);
            break;
        case Edge::host_stream: order_.wait_for(host_, line_of(first(), of_thread)); break;
        case Edge::host_all: order_.wait_for_all(host_); break;
        case Edge::host_function: {
            const Line stream = line_of(first(), of_thread);
            order_.enqueue(host_, stream);
            order_.wait_for(host_, stream);
            break;
        }
        case Edge::create: {
            const auto* const made = at<const std::uint64_t*>(parameters, 0);
            const bool is_apart = (at<unsigned>(parameters, 8) & flag_non_blocking) != 0;
            const auto kind = is_apart ? Order::Kind::other_stream : Order::Kind::blocking_stream;
            if (made != nullptr) streams_[*made] = order_.begin(kind);
            break;
        }
        case Edge::destroy:
            if (const auto stream = streams_.find(first()); stream != streams_.end()) {
                order_.end(stream->second);
                streams_.erase(stream);
            }
            break;
        case Edge::forget_event: events_.erase(first()); break;
        case Edge::new_memory: forget_memory(function, parameters); break;
        case Edge::capture: ++captures_; break;
        // What other threads did meanwhile was not followed.
        case Edge::end_capture:
            if (captures_ > 0 && --captures_ == 0) order_.forget_accesses(0, UINTPTR_MAX);
            break;
        case Edge::unknown: stop(function); break;
    }
    return true;
}

void Races::forget_memory(std::string_view function, const void* parameters) {
    if (function.starts_with("cuMemMap") || function.starts_with("cuMemUnmap")) {
        const auto begin = at<std::uint64_t>(parameters, 0);
        order_.forget_accesses(begin, begin + at<std::uint64_t>(parameters, 8));
    } else if (const std::optional<Memory> memory = memory_of(function, parameters)) {
        order_.forget_accesses(memory->address, memory->address + std::max<std::uint64_t>(memory->bytes, 1));
    }
}

void Races::copy(std::string_view function, const cupti::CallbackData& data, trace::Writer& writer) {
    const std::optional<LinearCopy> layout = linear_copy(function);
    if (!layout || layout->copy_kind == cupti::memcpy_kind_ptop) return;
    const CopyOperands copied = copy_operands(*layout, data.parameters);
    if (copied.bytes == 0) return;
    const bool to_host = is_host_memory(copied.destination), from_host = is_host_memory(copied.source);
    const bool to_pageable = to_host && is_ordinary_memory(copied.destination);
    const bool from_pageable = from_host && is_ordinary_memory(copied.source);
    const Line stream = line_of(copied.stream.value_or(0), copied.thread_stream);
    order_.enqueue(host_, stream);
    if (!from_pageable) touch(stream, range(copied.source, copied.bytes, false), data, writer);
    if (!to_pageable) touch(stream, range(copied.destination, copied.bytes, true), data, writer);
    // As documented: a blocking copy from pageable memory may return before its data have arrived, and one within the
    // device does; into pageable memory also those that are called asynchronous are waited for.
    const bool is_blocking = !is_asynchronous(function);
    if (to_pageable || (is_blocking && (to_host || (from_host && !from_pageable)))) order_.wait_for(host_, stream);
}

void Races::fill(std::string_view function, const cupti::CallbackData& data, trace::Writer& writer) {
    const auto* const known =
        std::find_if(fills.begin(), fills.end(), [&](const Fill& each) { return function.starts_with(each.prefix); });
    if (known == fills.end()) return;
    const auto begin = at<std::uint64_t>(data.parameters, 0);
    const std::uint64_t bytes = at<std::uint64_t>(data.parameters, 16) * known->element_bytes;
    if (bytes == 0) return;
    const bool is_blocking = !is_asynchronous(function);
    const Line stream = line_of(is_blocking ? 0 : at<std::uint64_t>(data.parameters, 24), has_thread_stream(function));
    order_.enqueue(host_, stream);
    touch(stream, range(begin, bytes, true), data, writer);
    if (is_blocking && is_host_memory(begin)) order_.wait_for(host_, stream);
}

void Races::touch(Line stream, Access access, const cupti::CallbackData& data, trace::Writer& writer) {
    access.place = place_of(data.function);
    for (const Race& race : order_.access(stream, access)) {
        const auto [first_site, first_name] = places_[race.first.place];
        const auto [second_site, second_name] = places_[race.second.place];
        const std::uintptr_t begin = std::max(race.first.begin, race.second.begin);
        writer.write(trace::RaceRecord{.address = begin,
                                       .bytes = std::min(race.first.end, race.second.end) - begin,
                                       .first_site = first_site,
                                       .first_name = first_name,
                                       .second_site = second_site,
                                       .second_name = second_name,
                                       .first_stream = race.first.line,
                                       .second_stream = race.second.line,
                                       .first_writes = race.first.is_write ? 1U : 0U,
                                       .second_writes = race.second.is_write ? 1U : 0U});
    }
}

Place Races::place_of(const char* function) {
    const std::pair key(sites_.known() ? sites_.here() : 0, file_.text(function));
    const auto known = known_places_.find(key);
    if (known != known_places_.end()) return known->second;
    if (places_.size() >= most_places) return 0;
    places_.push_back(key);
    return known_places_.emplace(key, static_cast<Place>(places_.size() - 1)).first->second;
}

}  // namespace isthmus::tracer
