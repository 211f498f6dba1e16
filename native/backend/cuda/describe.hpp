// What CUDA and NVML say about a device, without a context and with one.
#pragma once

#include <optional>
#include <string>

#include "backend/cuda/context.hpp"
#include "backend/device_info.hpp"

namespace isthmus::cuda {

// Fails with device_absent where there are fewer.
Result<Device> device_at(const Driver& driver, int index);

Result<DeviceInfo> describe(const Driver& driver, int index);

// Each field stays empty where NVML is absent or does not know it (Jetson, MIG, some virtual machines).
PeerReading read_peer(const Driver& driver, const std::string& here, const std::string& there);
LinkReading read_link(const Driver& driver, const std::string& pci_address);
// Per cent of the last second at most in which kernels ran.
std::optional<unsigned> read_busy_percent(const Driver& driver, const std::string& pci_address);
// The reasons for which clocks are lower than they could be; empty where it is not known.
std::string read_throttling(const Driver& driver, const std::string& pci_address);

// What it can do, as its attributes say.
struct Features {
    int multiprocessors = 1;
    bool maps_host_memory = false;
    bool registers_host_memory = false;
    bool managed = false;
    bool concurrent_managed = false;
    bool memory_pools = false;
};

Result<Features> read_features(const PrimaryContext& context);

}  // namespace isthmus::cuda
