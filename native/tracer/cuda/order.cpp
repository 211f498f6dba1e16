// Which accesses to memory happen before which, by what a program asked for.
#include "tracer/cuda/order.hpp"

#include <algorithm>
#include <iterator>

namespace isthmus::tracer {
namespace {

// A program that never waits has accesses without end: rather than memory without end, older ones are compared no more.
constexpr std::size_t most_accesses = 100'000;

void join(Clock& clock, const Clock& other) {
    for (const auto& [line, time] : other) {
        std::uint64_t& known = clock[line];
        known = std::max(known, time);
    }
}

}  // namespace

Line Order::begin(Kind kind) {
    const Line line = static_cast<Line>(lines_.size());
    lines_.push_back({kind, {{line, 1}}, false});
    if (kind == Kind::legacy_stream) legacy_ = line;
    return line;
}

void Order::end(Line line) {
    lines_[line].has_ended = true;
}

void Order::enqueue(Line thread, Line stream) {
    State& state = lines_[stream];
    if (thread != stream) join(state.clock, lines_[thread].clock);
    if (state.kind == Kind::blocking_stream && legacy_) join(state.clock, lines_[*legacy_].clock);
    if (state.kind == Kind::legacy_stream) {
        for (const State& other : lines_) {
            if (other.kind == Kind::blocking_stream) join(state.clock, other.clock);
        }
    }
    ++state.clock[stream];
    // What the thread does next is not ordered before the work that it asked for.
    if (thread != stream) ++lines_[thread].clock[thread];
}

bool Order::is_before(const Access& access, const Clock& clock) const {
    const auto known = clock.find(access.line);
    return known != clock.end() && access.time <= known->second;
}

std::vector<Race> Order::access(Line line, Access access) {
    std::vector<Race> races;
    access.line = line;
    const Clock& clock = lines_[line].clock;
    access.time = clock.at(line);
    const std::uintptr_t earliest = access.begin > longest_bytes_ ? access.begin - longest_bytes_ : 0;
    for (auto each = accesses_.lower_bound(earliest); each != accesses_.end() && each->first < access.end;) {
        const Access& other = each->second;
        const bool is_ordered = is_before(other, clock);
        if (other.overlaps(access) && (other.is_write || access.is_write) && !is_ordered) {
            races.push_back({other, access});
        }
        // What is not ordered behind the new access is not ordered behind this one, either: comparing with the new one
        // is enough, unless reads are compared with fewer than writes.
        const bool is_replaced = is_ordered && access.covers(other) && (access.is_write || !other.is_write);
        each = is_replaced ? accesses_.erase(each) : std::next(each);
    }
    if (accesses_.size() >= most_accesses) forget_accesses(0, UINTPTR_MAX);
    longest_bytes_ = std::max<std::size_t>(longest_bytes_, access.end - access.begin);
    accesses_.emplace(access.begin, access);
    return races;
}

Clock Order::recorded(Line stream) const {
    return lines_[stream].clock;
}

void Order::wait(Line line, const Clock& recorded) {
    join(lines_[line].clock, recorded);
}

void Order::wait_for(Line thread, Line stream) {
    join(lines_[thread].clock, lines_[stream].clock);
    // The legacy stream's last work is behind all that blocking streams have by then, also if it has none itself.
    if (lines_[stream].kind != Kind::legacy_stream) return;
    for (const State& other : lines_) {
        if (other.kind == Kind::blocking_stream) join(lines_[thread].clock, other.clock);
    }
}

void Order::wait_for_all(Line thread) {
    for (const State& other : lines_) {
        if (other.kind != Kind::thread) join(lines_[thread].clock, other.clock);
    }
}

void Order::forget_accesses(std::uintptr_t begin, std::uintptr_t end) {
    accesses_.erase(accesses_.lower_bound(begin), accesses_.lower_bound(end));
}

}  // namespace isthmus::tracer
