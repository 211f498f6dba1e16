// The host clock of every measurement: monotonic, nanoseconds.
#pragma once

#include <chrono>

namespace isthmus {

using TimePoint = std::chrono::steady_clock::time_point;

inline TimePoint now() {
    return std::chrono::steady_clock::now();
}

inline double seconds_between(TimePoint start, TimePoint stop) {
    return std::chrono::duration<double>(stop - start).count();
}

}  // namespace isthmus
