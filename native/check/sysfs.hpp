// What the kernel says of a device on the PCI bus, by files that wake no device.
#pragma once

#include <optional>
#include <string>

#include "check/facts.hpp"

namespace isthmus::checking {

struct Look {
    bool is_asleep = false;   // suspended: nothing more is read, as that may wake it
    bool is_visible = false;  // width and speed are given
    unsigned generation = 0, width = 0, most_generation = 0, most_width = 0;
    unsigned long corrected = 0, nonfatal = 0, fatal = 0;
};

// The link as it is, and the errors that the kernel logged of it. `root` is before "/sys".
Look look_at(const std::string& pci_address, const std::string& root = "");
// Errors that the kernel logged of the link.
void read_errors(Facts& facts);
std::optional<int> near_node(const std::string& pci_address);
// The addresses of NVIDIA's display controllers.
std::vector<std::string> cards(const std::string& root = "");

}  // namespace isthmus::checking
