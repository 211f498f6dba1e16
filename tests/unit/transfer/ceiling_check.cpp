// How many links copies take where the host's memory is the limit of all, and where it is not.
#include "transfer/links/ceiling.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using isthmus::Ceiling;

constexpr std::size_t bytes = std::size_t{1} << 30;
constexpr double each = 50e9;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("%s: not so\n", what);
    std::exit(1);
}

// Copies over links that together carry so much at most; how many of them took so many links.
int copies_with(Ceiling& ceiling, std::size_t all, double most, std::size_t wanted, int copies = 200) {
    int count = 0;
    std::size_t last = all;
    for (int i = 0; i < copies; ++i) {
        const bool is_reached = static_cast<double>(last) * each > most;
        last = ceiling.links(all, is_reached);
        expect(last >= 2 && last <= all, "there are so many");
        ceiling.moved(last, bytes, static_cast<double>(bytes) / std::min(static_cast<double>(last) * each, most));
        count += last == wanted ? 1 : 0;
    }
    return count;
}

void all_links_are_used_that_carry_more() {
    Ceiling free;
    expect(copies_with(free, 4, 1e12, 4) == 200, "without a limit all four are used, always");
    Ceiling two;
    expect(copies_with(two, 2, 60e9, 2) == 200, "whether one neighbour gains is for its pace to say");
}

void links_that_add_nothing_are_left() {
    Ceiling ceiling;
    expect(copies_with(ceiling, 4, 130e9, 3) > 140, "three carry what the host can");
    expect(copies_with(ceiling, 4, 130e9, 4, 80) < 10, "the fourth is tried seldom");
    Ceiling low;
    expect(copies_with(low, 4, 90e9, 2) > 120, "two do, where that is less");
}

void links_that_add_again_are_used_again() {
    Ceiling ceiling;
    (void)copies_with(ceiling, 4, 90e9, 2);
    expect(copies_with(ceiling, 4, 1e12, 4) > 120, "the others are found to carry more again");
}

}  // namespace

int main() {
    all_links_are_used_that_carry_more();
    links_that_add_nothing_are_left();
    links_that_add_again_are_used_again();
    std::puts("as described");
}
