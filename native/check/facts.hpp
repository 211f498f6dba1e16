// What was measured and read of a device.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "backend/device_info.hpp"

namespace isthmus::checking {

// In bytes per second; of both directions at once the sum. `noise` is how far repeats were from their median, in shares
// of it.
struct Rate {
    double rate = 0, noise = 0;
};

enum RateOf : unsigned { pinned_h2d, pinned_d2h, pinned_both, pageable_h2d, pageable_d2h, rate_count };

struct Facts {
    DeviceInfo info;  // as it was before it was opened, with errors that the kernel logged
    LinkReading loaded;
    std::string throttling;  // while copies ran
    std::array<Rate, rate_count> rates{};
    std::size_t bytes = 0;
    bool is_wrong = false;
    std::optional<int> bound_node, near_node;
    std::string failure;  // why nothing was measured; all else may be empty then
};

}  // namespace isthmus::checking
