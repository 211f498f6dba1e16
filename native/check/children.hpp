// Each device in a process of its own, so that a driver that hangs or dies takes one verdict with it and no more.
#pragma once

#include <vector>

#include "check/facts.hpp"

namespace isthmus::checking {

struct Limits {
    double seconds = 10.0;  // for opening all devices at the same time, and then for measuring each
};

// How many devices there are; a failure says why none can be asked.
struct Counted {
    int devices = 0;
    std::string failure;
};
Counted count_in_child(const Limits& limits);

// The devices by their index, opened together and measured one after the other.
std::vector<Facts> measure_in_children(const std::vector<int>& indices, const Limits& limits);

}  // namespace isthmus::checking
