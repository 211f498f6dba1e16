// Random programs of streams, events and waits, with each edge there or missing: what native/tracer/cuda/order.hpp
// reports of them against a graph of all that they asked for, in which paths are looked for one by one.
//
//   random_orders FIRST COUNT
//
// prints how many accesses, races and accesses in a race there were; ends with 1 at the first difference.
#include "tracer/cuda/order.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace isthmus::tracer;

constexpr std::size_t streams = 5, events = 4, buffers = 3, most_steps = 60;
using Node = int;
constexpr Node none = -1;

// What a program asked for: an edge is from what must have ended to what waits for it.
class Graph {
  public:
    Node add(std::initializer_list<Node> before) {
        const auto node = static_cast<Node>(before_.size());
        std::set<Node> all;
        for (const Node each : before) {
            if (each == none) continue;
            all.insert(each);
            all.insert(before_[static_cast<std::size_t>(each)].begin(), before_[static_cast<std::size_t>(each)].end());
        }
        before_.push_back(std::move(all));
        return node;
    }
    void order(Node first, Node second) {
        if (first == none) return;
        auto& all = before_[static_cast<std::size_t>(second)];
        all.insert(first);
        all.insert(before_[static_cast<std::size_t>(first)].begin(), before_[static_cast<std::size_t>(first)].end());
    }
    bool has_path(Node first, Node second) const { return before_[static_cast<std::size_t>(second)].contains(first); }

  private:
    std::vector<std::set<Node>> before_;
};

struct Touch {
    Node node;
    Access access;
};

class RandomProgram {
  public:
    explicit RandomProgram(unsigned seed) : random_(seed) {
        host_ = order_.begin(Order::Kind::thread);
        for (std::size_t i = 0; i < streams; ++i) {
            kinds_.push_back(i == 0  ? Order::Kind::legacy_stream
                             : i < 3 ? Order::Kind::blocking_stream
                                     : Order::Kind::other_stream);
            lines_.push_back(order_.begin(kinds_.back()));
        }
        ends_.assign(streams, none);
        recorded_.assign(events, {});
        recorded_nodes_.assign(events, none);
    }
    // False at the first difference.
    bool run() {
        const std::size_t steps = 1 + below(most_steps);
        for (std::size_t step = 0; step < steps; ++step) {
            if (!next()) return false;
        }
        return true;
    }
    std::size_t accesses() const { return touches_.size(); }
    std::size_t races = 0, in_a_race = 0;

  private:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    Node command(std::size_t stream) {
        order_.enqueue(host_, lines_[stream]);
        const Node node = graph_.add({host_node_, ends_[stream]});
        for (std::size_t other = 0; other < streams; ++other) {
            const bool waits = (kinds_[stream] == Order::Kind::blocking_stream && other == 0) ||
                               (stream == 0 && kinds_[other] == Order::Kind::blocking_stream);
            if (waits) graph_.order(ends_[other], node);
        }
        return ends_[stream] = node;
    }
    void host_waits(std::size_t stream) {
        const Node node = graph_.add({host_node_, ends_[stream]});
        for (std::size_t other = 0; stream == 0 && other < streams; ++other) {
            if (kinds_[other] == Order::Kind::blocking_stream) graph_.order(ends_[other], node);
        }
        host_node_ = node;
    }
    bool touch(Line line, Node node) {
        Access access;
        const std::uintptr_t buffer = 1000 * (1 + below(buffers));
        access.begin = buffer + below(8);
        access.end = access.begin + 1 + below(8);
        access.is_write = below(2) == 0;
        access.place = static_cast<Place>(touches_.size());
        std::set<Place> expected;
        for (const Touch& other : touches_) {
            if (other.access.overlaps(access) && (other.access.is_write || access.is_write) &&
                !graph_.has_path(other.node, node)) {
                expected.insert(other.access.place);
            }
        }
        const std::vector<Race> reported = order_.access(line, access);
        touches_.push_back({node, access});
        in_a_race += expected.empty() ? 0 : 1;
        races += reported.size();
        // Accesses that a later one stands for are not compared any more: one of those in the race is reported.
        const bool all_are_races = std::all_of(reported.begin(), reported.end(),
                                               [&](const Race& race) { return expected.contains(race.first.place); });
        return all_are_races && reported.empty() == expected.empty();
    }
    bool next() {
        const std::size_t stream = below(streams), event = below(events);
        switch (below(10)) {
            case 0: {
                recorded_nodes_[event] = command(stream);
                recorded_[event] = order_.recorded(lines_[stream]);
                return true;
            }
            case 1: {
                const Node node = command(stream);
                order_.wait(lines_[stream], recorded_[event]);
                graph_.order(recorded_nodes_[event], node);
                return true;
            }
            case 2:
                order_.wait(host_, recorded_[event]);
                host_node_ = graph_.add({host_node_, recorded_nodes_[event]});
                return true;
            case 3:
                order_.wait_for(host_, lines_[stream]);
                host_waits(stream);
                return true;
            case 4:
                if (below(4) != 0) return true;
                order_.wait_for_all(host_);
                for (std::size_t each = 0; each < streams; ++each) host_waits(each);
                return true;
            case 5:
            case 6: host_node_ = graph_.add({host_node_}); return touch(host_, host_node_);
            default: {
                const Node node = command(stream);
                return touch(lines_[stream], node);
            }
        }
    }

    std::mt19937 random_;
    Order order_;
    Graph graph_;
    Line host_ = 0;
    std::vector<Line> lines_;
    std::vector<Order::Kind> kinds_;
    Node host_node_ = none;
    std::vector<Node> ends_, recorded_nodes_;
    std::vector<Clock> recorded_;
    std::vector<Touch> touches_;
};

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const auto first = static_cast<unsigned>(std::atoi(words[1])),
               programs = static_cast<unsigned>(std::atoi(words[2]));
    std::size_t accesses = 0, races = 0, in_a_race = 0;
    for (unsigned seed = first; seed < first + programs; ++seed) {
        RandomProgram program(seed);
        if (!program.run()) return std::printf("program %u differs\n", seed), 1;
        accesses += program.accesses();
        races += program.races;
        in_a_race += program.in_a_race;
    }
    std::printf("%zu %zu %zu\n", accesses, races, in_a_race);
    return 0;
}
