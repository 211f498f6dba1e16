// How much of some work takes about as long as is wanted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/status.hpp"

namespace isthmus::experiment {

// `work` does so much of it and returns the seconds that this took; it gets twice as much to do until that is long
// enough to tell from.
template <typename Work>
Result<std::uint64_t> amount_for(double wanted_seconds, Work&& work) {
    // No work is so quick that more than this is wanted of it.
    constexpr int most_doublings = 48;
    const double telling = wanted_seconds / 4;
    std::uint64_t amount = 1;
    double took = 0;
    for (int i = 0; i < most_doublings; ++i, amount *= 2) {
        ISTHMUS_TRY(assign(took, work(amount)));
        // What was enqueued first may have waited for the driver to get ready.
        if (took >= telling) {
            ISTHMUS_TRY(assign(took, work(amount)));
            if (took >= telling) break;
        }
    }
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(amount) * wanted_seconds / took));
}

}  // namespace isthmus::experiment
