// What a wait of the program covers, by what it asked for and never by when it happened.
//
// A line is a stream, or the default streams of all contexts and threads together; where there are more streams than
// lines, several share one. So a wait may cover more here than it does, never less: what is reported as unfinished has
// been waited for by nothing that was seen. Threads of the host count as one: what one has waited for, all have.
// Nothing here allocates; the caller holds the lock.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "races/table.hpp"

namespace isthmus::races {

inline constexpr std::size_t most_lines = 64;
using Line = std::uint32_t;
inline constexpr Line default_line = 0;

// The last piece of work of each line that is covered (vector clocks: Mattern 1989).
struct Clock {
    std::array<std::uint64_t, most_lines> until{};

    void join(const Clock& other) {
        for (std::size_t i = 0; i < most_lines; ++i) until[i] = std::max(until[i], other.until[i]);
    }
    bool covers(Line line, std::uint64_t work) const { return work <= until[line]; }
    static Clock everything(std::uint64_t last = UINT64_MAX) {
        Clock clock;
        clock.until.fill(last);
        return clock;
    }
};

class Order {
  public:
    // The line of something that is asked for on a stream. A handle that is not known is of the default line. The
    // default stream is behind what streams have been given that wait for it, and they behind what it has.
    Line arrive(std::uintptr_t stream);
    void begin(std::uintptr_t stream, bool is_blocking);
    void end(std::uintptr_t stream);

    // The number of the next piece of work of a line.
    std::uint64_t add_work(Line line);
    const Clock& clock(Line line) const { return clocks_[line]; }
    // All that comes later on the line is behind what an event holds.
    void wait(Line line, const Clock& clock) { clocks_[line].join(clock); }
    void wait_on_all_lines(const Clock& clock);
    // A launch of a graph is behind all earlier ones of it; here of any graph.
    void launch_graph(Line line);
    // Kernels of several devices may wait for each other: all lines with kernels are behind each other.
    void launch_among_devices(Line line);

    // The line waits for a word that the host may write when it has waited for something else. What is behind that may
    // be behind anything, until the host has waited for it.
    void hold(Line line);
    bool is_held(Line line) const;
    void finish(const Clock& clock);

    // Holds nothing until it is recorded.
    void create(std::uintptr_t event);
    // While the driver records an event it may hold either.
    void begin_recording(std::uintptr_t event, Line line);
    void end_recording(std::uintptr_t event, Line line, bool was_recorded);
    // Recorded where nothing follows it, in a graph or another process: it holds everything, also when it is recorded
    // again.
    void lose(std::uintptr_t event);
    void forget(std::uintptr_t event) { events_.remove(event); }
    Clock held_by(std::uintptr_t event) const;

  private:
    static constexpr std::size_t most_streams = 1024, most_events = 16384;
    using Lines = std::bitset<most_lines>;
    Line free_line(bool is_blocking) const;
    struct Event {
        Clock clock;
        bool is_lost = false;
    };

    std::array<Clock, most_lines> clocks_{};
    Clock graphs_, kernels_;
    // Lines of the default stream's kind; those ever used; those that have launched kernels.
    Lines blocking_, used_, with_kernels_;
    std::array<std::uint64_t, most_lines> first_held_{}, last_held_{};
    std::array<std::uint32_t, most_lines> streams_of_line_{};
    std::uint64_t works_ = 0;
    Line last_begun_ = default_line;
    Table<Line, most_streams> streams_;
    Table<Event, most_events> events_;
};

}  // namespace isthmus::races
