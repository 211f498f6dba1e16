// What is known of devices without measuring.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace isthmus {

// State of the PCI Express link as the vendor's library reads it at this moment.
struct LinkReading {
    std::optional<unsigned> generation, width, max_generation, max_width;
    std::optional<unsigned> replays;  // packets sent again since the driver was loaded
};

// What is between two devices, as the vendor's library reads it; absent where it cannot tell.
struct PeerReading {
    std::optional<bool> has_nvlink;    // straight or over switches
    std::optional<unsigned> nvlinks;   // how many of them carry copies
    std::optional<unsigned> ancestor;  // the closest that both hang on: nvmlGpuTopologyLevel_t
};

// What a backend knows of a device without measuring. Empty or absent where it cannot tell.
struct DeviceInfo {
    std::string backend;
    int index = 0;
    std::string name;
    std::string vendor;
    std::string driver_version;
    std::string api_version;
    std::string compute_capability;
    std::string uuid;
    std::string pci_address;
    std::uint64_t memory_bytes = 0;
    bool shares_host_memory = false;
    bool has_addresses = true;  // its memory does; OpenCL has handles, within which places are counted
    std::optional<int> copy_engines;
    LinkReading link;
    std::map<std::string, std::string> conditions;
};

// The devices of one backend, or why it has none.
struct BackendListing {
    std::string name;
    std::vector<DeviceInfo> devices;
    std::string library;
    std::vector<std::string> looked_for;
    std::string absent_because;
    bool is_parents = false;  // the drivers were begun before this process was forked: installing any does not help
};

}  // namespace isthmus
