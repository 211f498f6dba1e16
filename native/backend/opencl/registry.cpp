// The OpenCL devices of this process, from the loader and from drivers opened without it.
#include "backend/opencl/registry.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <set>

#include "backend/opencl/query.hpp"
#include "base/fork.hpp"

namespace isthmus::opencl {
namespace {

// Three vendors, three queries that say where a device sits; the Khronos one first.
std::string pci_address(const Api& api, Device device) {
    std::array<char, 32> text{};
    if (const auto pci = value_of<PciBusInfo>(api, device, device_pci_bus_info_khr)) {
        std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->device, pci->function);
        return text.data();
    }
    if (const auto bus = value_of<std::uint32_t>(api, device, device_pci_bus_nv)) {
        const auto slot = value_of<std::uint32_t>(api, device, device_pci_slot_nv).value_or(0);
        const auto domain = value_of<std::uint32_t>(api, device, device_pci_domain_nv).value_or(0);
        std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", domain, *bus, slot >> 3, slot & 7);
        return text.data();
    }
    // cl_device_topology_amd: type 1 (PCI Express), then bus, device and function in bytes 21 to 23.
    if (const auto amd = value_of<std::array<unsigned char, 24>>(api, device, device_topology_amd);
        amd && (*amd)[0] == 1) {
        std::snprintf(text.data(), text.size(), "0000:%02x:%02x.%x", (*amd)[21], (*amd)[22], (*amd)[23]);
        return text.data();
    }
    return "";
}

// Held while drivers are asked for their devices, by which they begin to work: PoCL 3.0 crashes where two threads ask
// first.
std::mutex& asking() {
    static auto* const mutex = new ProcessMutex;
    return *mutex;
}

void add_devices(const Source& source, std::set<std::string>& seen, Registry& registry) {
    for (const auto& [platform, api] : source.platforms) {
        const std::string key = text_of(api, api.clGetPlatformInfo, platform, platform_name) +
                                text_of(api, api.clGetPlatformInfo, platform, platform_version);
        if (!seen.insert(key).second) continue;
        std::uint32_t count = 0;
        if (!api.call(api.clGetDeviceIDs, platform, device_type_all, 0U, static_cast<Device*>(nullptr), &count).ok())
            continue;
        std::vector<Device> devices(count);
        const auto none = static_cast<std::uint32_t*>(nullptr);
        if (!api.call(api.clGetDeviceIDs, platform, device_type_all, count, devices.data(), none).ok()) continue;
        for (Device device : devices) registry.entries.push_back(describe(platform, device, api, source.library));
    }
}

}  // namespace

Entry describe(Platform platform, Device device, const Api& api, const std::string& library) {
    Entry entry{platform, device, api, library, false, false, {}};
    entry.has_tables =
        text_of(api, api.clGetPlatformInfo, platform, platform_extensions).find("cl_khr_icd") != std::string::npos;
    const Flags type = value_of<Flags>(api, device, device_type).value_or(0);
    entry.is_cpu = (type & device_type_cpu) != 0;
    DeviceInfo& info = entry.info;
    info.backend = "opencl";
    info.has_addresses = false;
    info.name = text_of(api, api.clGetDeviceInfo, device, device_name);
    info.vendor = text_of(api, api.clGetDeviceInfo, device, device_vendor);
    info.driver_version = text_of(api, api.clGetDeviceInfo, device, device_driver_version);
    info.api_version = text_of(api, api.clGetDeviceInfo, device, device_version);
    info.memory_bytes = value_of<std::uint64_t>(api, device, device_global_mem_size).value_or(0);
    info.shares_host_memory = entry.is_cpu || value_of<Bool>(api, device, device_host_unified_memory).value_or(0) != 0;
    info.pci_address = pci_address(api, device);
    info.conditions["platform"] = text_of(api, api.clGetPlatformInfo, platform, platform_name) + ", " +
                                  text_of(api, api.clGetPlatformInfo, platform, platform_version);
    return entry;
}

Registry find_devices(const std::vector<std::string>& drivers) {
    const std::lock_guard lock(asking());
    Registry registry;
    std::set<std::string> seen;
    const auto add = [&](Result<Source> source, const std::string& name) {
        registry.looked_for.push_back(name);
        if (source.ok()) {
            add_devices(source.value(), seen, registry);
        } else {
            const std::string reason = source.take_status().message();
            registry.absent_because += (registry.absent_because.empty() ? "" : "; ") + reason;
        }
    };
    add(open_loader(), "libOpenCL.so.1");
    for (const std::string& driver : drivers) add(open_driver(driver), driver);
    std::stable_partition(registry.entries.begin(), registry.entries.end(),
                          [](const Entry& entry) { return !entry.is_cpu; });
    int index = 0;
    for (Entry& entry : registry.entries) entry.info.index = index++;
    if (!registry.entries.empty()) {
        registry.absent_because.clear();
    } else if (registry.absent_because.empty()) {
        registry.absent_because =
            "the OpenCL loader is there, but no driver is installed for it: install that of the device's vendor, which "
            "brings a file in /etc/OpenCL/vendors (NVIDIA's driver, intel-opencl-icd, rocm-opencl-icd; for the CPU "
            "pocl-opencl-icd)";
    }
    return registry;
}

}  // namespace isthmus::opencl
