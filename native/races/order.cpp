// What a wait of the program covers.
#include "races/order.hpp"

namespace isthmus::races {

Line Order::arrive(std::uintptr_t stream) {
    const Line* known = streams_.find(stream);
    const Line line = known == nullptr ? default_line : *known;
    if (line != default_line) {
        if (blocking_[line]) clocks_[line].join(clocks_[default_line]);
        return line;
    }
    for (Line each = 1; each < most_lines && blocking_.any(); ++each) {
        if (blocking_[each]) clocks_[line].join(clocks_[each]);
    }
    return line;
}

// Among those of the same kind with the fewest streams, the one that was longest without: its old copies are the
// likeliest to be over.
Line Order::free_line(bool is_blocking) const {
    Line fewest = default_line;
    for (std::size_t i = 0; i < most_lines - 1; ++i) {
        const auto each = static_cast<Line>(1 + (last_begun_ + i) % (most_lines - 1));
        if (used_[each] && blocking_[each] != is_blocking) continue;
        if (fewest == default_line || streams_of_line_[each] < streams_of_line_[fewest]) fewest = each;
    }
    return fewest;
}

void Order::begin(std::uintptr_t stream, bool is_blocking) {
    end(stream);
    const Line free = free_line(is_blocking);
    bool is_new = false;
    Line* line = free == default_line ? nullptr : streams_.find_or_add(stream, is_new);
    if (line == nullptr) return;
    last_begun_ = *line = free;
    used_[free] = true;
    blocking_[free] = is_blocking;
    ++streams_of_line_[free];
}

void Order::end(std::uintptr_t stream) {
    if (const Line* line = streams_.find(stream)) --streams_of_line_[*line];
    streams_.remove(stream);
}

std::uint64_t Order::add_work(Line line) {
    return clocks_[line].until[line] = ++works_;
}

void Order::wait_on_all_lines(const Clock& clock) {
    for (Clock& each : clocks_) each.join(clock);
}

void Order::launch_graph(Line line) {
    clocks_[line].join(graphs_);
    graphs_.join(clocks_[line]);
}

void Order::launch_among_devices(Line line) {
    with_kernels_[line] = true;
    for (int round = 0; round < 2; ++round) {
        for (Line each = 0; each < most_lines; ++each) {
            if (!with_kernels_[each]) continue;
            kernels_.join(clocks_[each]);
            clocks_[each].join(kernels_);
        }
    }
}

void Order::hold(Line line) {
    last_held_[line] = add_work(line);
    if (first_held_[line] == 0) first_held_[line] = last_held_[line];
}
bool Order::is_held(Line line) const {
    for (Line each = 0; each < most_lines; ++each) {
        if (first_held_[each] != 0 && clocks_[line].covers(each, first_held_[each])) return true;
    }
    return false;
}
void Order::finish(const Clock& clock) {
    for (Line each = 0; each < most_lines; ++each) {
        if (clock.covers(each, last_held_[each])) first_held_[each] = 0;
    }
}

void Order::create(std::uintptr_t event) {
    bool is_new = false;
    if (Event* known = events_.find_or_add(event, is_new)) *known = {};
}

void Order::begin_recording(std::uintptr_t event, Line line) {
    bool is_new = false;
    Event* known = events_.find_or_add(event, is_new);
    if (known == nullptr) return;
    if (is_new) *known = {};
    known->clock.join(clocks_[line]);
}

void Order::end_recording(std::uintptr_t event, Line line, bool was_recorded) {
    if (Event* known = events_.find(event); known != nullptr && was_recorded) known->clock = clocks_[line];
}

void Order::lose(std::uintptr_t event) {
    bool is_new = false;
    if (Event* known = events_.find_or_add(event, is_new)) known->is_lost = true;
}

Clock Order::held_by(std::uintptr_t event) const {
    const Event* known = events_.find(event);
    return known == nullptr || known->is_lost ? Clock::everything(works_) : known->clock;
}

}  // namespace isthmus::races
