// What was measured and read of a device, and the verdict on it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/device_info.hpp"

namespace isthmus::checking {

// In bytes per second; of both directions at once the sum. `noise` is how far repeats were from their median, in shares
// of it.
struct Rate {
    double rate = 0, noise = 0;
};

enum RateOf : unsigned { pinned_h2d, pinned_d2h, pinned_both, pageable_h2d, pageable_d2h, rate_count };

struct Facts {
    DeviceInfo info;  // as it was at rest
    LinkReading loaded;
    std::string throttling;  // while copies ran
    std::array<Rate, rate_count> rates{};
    std::size_t bytes = 0;
    bool is_wrong = false;
    unsigned long corrected = 0, nonfatal = 0, fatal = 0;
    std::optional<int> bound_node, near_node;
    UseReading use;       // before it was opened
    std::string failure;  // why nothing was measured; all else may be empty then
};

// The gravest first; what cannot be judged is never OK.
enum class Level { fault, attention, none, ok, note };

struct Finding {
    Level level;
    std::string topic, text;
    std::vector<std::string> cures;
};

struct Verdict {
    Level level = Level::none;
    std::vector<Finding> findings;  // the gravest first; not empty
    // The least that is normal, and what says so ("measured", "public", "theory", "alike"); 0 where nothing does.
    std::array<std::pair<double, const char*>, rate_count> normal{};
};

// Pinned memory, to and from, in bytes per second.
using Alike = std::vector<std::array<double, 2>>;

// `alike` are the pinned rates, to and from, of all devices of its kind in the machine.
Verdict judged(const Facts& facts, const Alike& alike);

}  // namespace isthmus::checking
