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
        last = ceiling.links(bytes, all, is_reached);
        expect(last >= 2 && last <= all, "there are so many");
        ceiling.moved(bytes, last, static_cast<double>(bytes) / std::min(static_cast<double>(last) * each, most));
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

// Short copies over all links reach less than long ones over fewer.
void sizes_are_compared_with_their_own() {
    Ceiling ceiling;
    (void)copies_with(ceiling, 4, 130e9, 3);
    int count = 0;
    for (int i = 0; i < 100; ++i) {
        const std::size_t links = ceiling.links(bytes / 16, 4, true);
        ceiling.moved(bytes / 16, links, static_cast<double>(bytes / 16) / (25e9 * static_cast<double>(links)));
        count += links == 4 ? 1 : 0;
    }
    expect(count > 80, "what long copies reach with three says nothing of short ones");
}

// A link that begins anew carries less in its first copy.
void the_first_copy_of_a_link_is_not_its_rate() {
    Ceiling ceiling;
    std::size_t last = 4;
    int count = 0;
    for (int i = 0; i < 400; ++i) {
        const std::size_t links = ceiling.links(bytes, 4, true);
        const double rate = links > last ? 100e9 : links == 4 ? 137e9 : links == 3 ? 124e9 : 102e9;
        ceiling.moved(bytes, links, static_cast<double>(bytes) / rate);
        last = links;
        count += links == 4 ? 1 : 0;
    }
    expect(count > 340, "four carry a tenth more than three");
}

}  // namespace

int main() {
    all_links_are_used_that_carry_more();
    links_that_add_nothing_are_left();
    links_that_add_again_are_used_again();
    sizes_are_compared_with_their_own();
    the_first_copy_of_a_link_is_not_its_rate();
    std::puts("as described");
}
