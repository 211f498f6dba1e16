// What each link carries of a copy that is divided before it begins, so that all of them end at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace isthmus {

// Bytes for each neighbour's link; the device's own link carries the rest. Rates are in bytes per second, 0 for a link
// that is to carry none. A neighbour's part ends `later_seconds` after its own link is done with it, which the second
// hop of its last chunk takes. A part of less than `least_bytes` is not worth its calls.
inline std::vector<std::size_t> parts_that_end_together(std::size_t bytes, double own_rate,
                                                        const std::vector<double>& rates, double later_seconds,
                                                        std::size_t least_bytes) {
    constexpr std::size_t page_bytes = 4096;
    double rate = own_rate, work = static_cast<double>(bytes);
    for (const double each : rates) {
        rate += each;
        work += each * later_seconds;
    }
    const double seconds = std::max(work / rate - later_seconds, 0.0);
    std::vector<std::size_t> parts;
    std::size_t left = bytes;
    for (const double each : rates) {
        const std::size_t part = static_cast<std::size_t>(each * seconds) / page_bytes * page_bytes;
        parts.push_back(part < least_bytes ? 0 : std::min(part, left));
        left -= parts.back();
    }
    return parts;
}

}  // namespace isthmus
