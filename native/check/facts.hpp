// What was measured and read of a device.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backend/device_info.hpp"

namespace isthmus::checking {

// In bytes per second; of both directions at once the sum. `noise` is how far repeats were from their median, in shares
// of it.
struct Rate {
    double rate = 0, noise = 0;
};

// Rates are judged but for those of copies by the library, which `isthmus check` shows, too.
enum RateOf : unsigned {
    pinned_h2d,
    pinned_d2h,
    pinned_both,
    pageable_h2d,
    pageable_d2h,
    rate_count,
    library_h2d = rate_count,
    library_d2h,
    case_count
};

// One case for a run: the seconds of each repeat on the host's clock, and what was wrong with the data; or why there
// are none.
struct Repeats {
    std::vector<double> seconds;
    std::string wrong, skipped;
};

struct Facts {
    DeviceInfo info;            // as it was before it was opened, with errors that the kernel logged
    LinkReading begun, loaded;  // under load, before the first copy is timed (for a run alone) and after the last
    std::string link_source = "NVML";  // or "sysfs", the kernel's files
    std::string throttling;            // while copies ran
    std::array<Rate, rate_count> rates{};
    std::array<Repeats, case_count> repeats;
    std::array<std::vector<double>, 2> at_once;  // pinned, while all devices copy, on the device's clock
    std::size_t bytes = 0;
    bool is_wrong = false;
    std::optional<int> bound_node, near_node;
    std::string failure;     // why nothing was measured; all else may be empty then
    bool is_absent = false;  // there is no such device
};

}  // namespace isthmus::checking
