// What the kernel says of a device on the PCI bus.
#include "check/sysfs.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/text_file.hpp"

namespace isthmus::checking {
namespace {

std::string folder_of(const std::string& address, const std::string& root = "") {
    return root + "/sys/bus/pci/devices/" + address;
}

// "32.0 GT/s PCIe", "8 GT/s" before Linux 5.7, "Unknown".
unsigned generation_of(const std::string& speed) {
    constexpr std::array<double, 7> gigatransfers{2.5, 5, 8, 16, 32, 64, 128};
    const auto at = std::ranges::find(gigatransfers, std::strtod(speed.c_str(), nullptr));
    return at == gigatransfers.end() ? 0 : static_cast<unsigned>(at - gigatransfers.begin()) + 1;
}

// A device that sleeps or fell off the bus reads as 0 or as all ones.
unsigned width_of(const std::string& text) {
    constexpr std::array<unsigned long, 7> widths{1, 2, 4, 8, 12, 16, 32};
    const unsigned long width = std::strtoul(text.c_str(), nullptr, 10);
    return std::ranges::find(widths, width) != widths.end() ? static_cast<unsigned>(width) : 0;
}

// The last line, "TOTAL_ERR_COR 12"; 0 where there is no such file.
unsigned long total_of(const std::string& path) {
    std::ifstream file(path);
    unsigned long total = 0;
    for (std::string name, count; file >> name >> count;) {
        if (name.starts_with("TOTAL")) total = std::strtoul(count.c_str(), nullptr, 10);
    }
    return total;
}

}  // namespace

Look look_at(const std::string& pci_address, const std::string& root) {
    const std::string folder = folder_of(pci_address, root);
    Look look;
    const std::string status = first_line(folder + "/power/runtime_status");
    look.is_asleep = status == "suspended" || status == "suspending";
    if (look.is_asleep) return look;
    look.generation = generation_of(first_line(folder + "/current_link_speed"));
    look.width = width_of(first_line(folder + "/current_link_width"));
    look.is_visible = look.generation != 0 && look.width != 0;
    // The most of both ends. A virtual machine may make up a port that could not do what the link does.
    const auto most_of = [](unsigned now, unsigned here, unsigned above) {
        return above == 0 ? here : std::min(here, std::max(above, now));
    };
    look.most_generation = most_of(look.generation, generation_of(first_line(folder + "/max_link_speed")),
                                   generation_of(first_line(folder + "/../max_link_speed")));
    look.most_width = most_of(look.width, width_of(first_line(folder + "/max_link_width")),
                              width_of(first_line(folder + "/../max_link_width")));
    look.corrected = total_of(folder + "/aer_dev_correctable");
    look.nonfatal = total_of(folder + "/aer_dev_nonfatal");
    look.fatal = total_of(folder + "/aer_dev_fatal");
    return look;
}

void read_errors(Facts& facts) {
    const Look look = look_at(facts.info.pci_address);
    const std::array<std::pair<const char*, unsigned long>, 3> counts{
        {{"aer_corrected", look.corrected}, {"aer_nonfatal", look.nonfatal}, {"aer_fatal", look.fatal}}};
    for (const auto& [name, count] : counts) {
        if (count > 0) facts.info.conditions[name] = std::to_string(count);
    }
}

std::optional<int> near_node(const std::string& pci_address) {
    const std::string text = first_line(folder_of(pci_address) + "/numa_node");
    const int node = text.empty() ? -1 : std::atoi(text.c_str());
    return node >= 0 ? std::optional(node) : std::nullopt;
}

std::vector<std::string> cards(const std::string& root) {
    std::vector<std::string> addresses;
    std::error_code none;
    for (const auto& each : std::filesystem::directory_iterator(root + "/sys/bus/pci/devices", none)) {
        const std::string folder = each.path().string();
        const bool is_display = first_line(folder + "/class").starts_with("0x03");
        if (is_display && first_line(folder + "/vendor") == "0x10de")
            addresses.push_back(each.path().filename().string());
    }
    std::ranges::sort(addresses);
    return addresses;
}

}  // namespace isthmus::checking
