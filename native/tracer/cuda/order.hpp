// Which accesses to memory happen before which, by what a program asked for, never by when it happened.
//
// Threads of the host and streams each do one thing after another. Every call that has one of them wait for another is
// an edge. Two accesses to the same bytes, at least one of them a write, that no path of edges joins are a race, even
// if one of them was long over: on another machine, or on another day, it may not be.
//
// The method is that of vector clocks (Lamport 1978, Mattern 1989): each line knows how far every other line had got at
// the last edge from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace isthmus::tracer {

// A thread of the host or a stream.
using Line = std::uint32_t;
// How far each line had got; lines that are not there had not begun.
using Clock = std::unordered_map<Line, std::uint64_t>;
using Place = std::uint32_t;

struct Access {
    std::uintptr_t begin = 0, end = 0;
    bool is_write = false;
    Place place = 0;
    Line line = 0;
    std::uint64_t time = 0;  // of its line; both are set by Order

    bool overlaps(const Access& other) const { return begin < other.end && other.begin < end; }
    bool covers(const Access& other) const { return begin <= other.begin && other.end <= end; }
};

// Two accesses without an edge between them: the one that was asked for first, and the other.
struct Race {
    Access first, second;
};

// Not synchronised: the caller holds a lock.
class Order {
  public:
    // Streams that wait for the legacy default stream, and that for them, are blocking.
    enum class Kind { thread, legacy_stream, blocking_stream, other_stream };
    Line begin(Kind kind);
    // The stream does nothing more. What it did stays.
    void end(Line line);

    // A thread asks for work on a stream, or does something itself where both are the same. All that is asked for by
    // one call has one time. Accesses are checked against all that are known, and kept.
    void enqueue(Line thread, Line stream);
    std::vector<Race> access(Line line, Access access);

    // What an event holds: how far its stream had got when it was recorded. An event that was never recorded holds
    // nothing, and waits for it are no edges.
    Clock recorded(Line stream) const;
    void wait(Line line, const Clock& recorded);
    // The thread waits for all that the stream was given.
    void wait_for(Line thread, Line stream);
    // For all streams of the context.
    void wait_for_all(Line thread);

    // Those that begin in a range are compared no more: the memory there is new.
    void forget_accesses(std::uintptr_t begin, std::uintptr_t end);

  private:
    struct State {
        Kind kind = Kind::thread;
        Clock clock;
        bool has_ended = false;
    };
    bool is_before(const Access& access, const Clock& clock) const;

    std::vector<State> lines_;
    std::optional<Line> legacy_;
    // By where they begin, and how long the longest is: what overlaps a range begins at most that far before it.
    std::multimap<std::uintptr_t, Access> accesses_;
    std::size_t longest_bytes_ = 0;
};

}  // namespace isthmus::tracer
