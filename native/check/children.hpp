// Each device in a process of its own, so that a driver that hangs or dies takes one verdict with it and no more.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "check/facts.hpp"

namespace isthmus::checking {

// First in a child: it ends with its parent, whatever it waits for, and keeps none of the parent's input and output
// open, for the end of which others wait. `kept` is what it speaks through.
void begin_child(pid_t parent, int kept);

struct Limits {
    double seconds = 10.0;  // for opening all devices at the same time, and then for measuring each
    bool for_run = false;   // measure what `isthmus check` keeps in a run, too, and say on stderr which device is next
    std::string root = {};  // before "/sys" and "/proc"
};

// How many devices there are; a failure says why none can be asked.
struct Counted {
    int devices = 0;
    std::string failure;
    bool is_absent = false;  // the driver answered, or there is none
};
Counted count_in_child(const Limits& limits);

// The devices by their index, opened together and measured one after the other; for a run they then copy at once. Where
// the host's memory does not suffice for all, each is opened when the one before has ended, and none copies with
// others.
std::vector<Facts> measure_in_children(const std::vector<int>& indices, const Limits& limits);

// Last: where process 1 waits for no child, as in many containers, each would stay as a zombie.
void reap_children();

}  // namespace isthmus::checking
