// What a wait of the program covers.
#include "races/order.hpp"

namespace isthmus::races {

Line Order::line_of(std::uintptr_t stream) const {
    const Line* line = streams_.find(stream);
    return line == nullptr ? default_line : *line;
}

void Order::begin(std::uintptr_t stream, bool is_blocking) {
    end(stream);
    bool is_new = false;
    if (is_blocking) return;
    Line* line = streams_.find_or_add(stream, is_new);
    if (line == nullptr) return;
    // Among those with the fewest streams, the one that was longest without: its old copies are the likeliest to be
    // over.
    Line fewest = default_line;
    for (std::size_t i = 0; i < most_lines - 1; ++i) {
        const auto each = static_cast<Line>(1 + (last_begun_ + i) % (most_lines - 1));
        if (fewest == default_line || streams_of_line_[each] < streams_of_line_[fewest]) fewest = each;
    }
    last_begun_ = *line = fewest;
    ++streams_of_line_[fewest];
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
    return known == nullptr || known->is_lost ? Clock::everything() : known->clock;
}

}  // namespace isthmus::races
