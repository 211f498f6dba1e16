// What a calibration measured of another device's link.
#pragma once

#include <cstddef>
#include <string>

namespace isthmus {

// What a copy over another device takes, and whether dividing copies between that link and the own one gains.
struct LinkRule {
    bool to_device = true;
    std::string pci_address;  // of the other device
    bool gains = true;
    std::size_t from_bytes = 0;  // from this size on
    std::size_t bytes = 0;       // that went over it while the own link carried the rest of a copy
    double seconds = 0;          // which that took
};

}  // namespace isthmus
