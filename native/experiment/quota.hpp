// How many samples to take.
#pragma once

#include <cstddef>

#include "base/clock.hpp"

namespace isthmus::experiment {

// Until `seconds` have passed, but at least `least` and at most `most`.
struct Quota {
    std::size_t least = 1;
    std::size_t most = 1;
    double seconds = 0;

    // Whether one more is due after `taken` since `begin`.
    bool wants_more(std::size_t taken, TimePoint begin) const {
        return taken < most && (taken < least || seconds_between(begin, now()) < seconds);
    }
};

}  // namespace isthmus::experiment
