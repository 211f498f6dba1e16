// The OpenCL devices of this process, from the loader and from drivers opened without it.
#include "backend/opencl/registry.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace isthmus::opencl {
namespace {

std::string text_of(const std::vector<char>& bytes) {
    std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::string platform_text(const Api& api, Platform platform, std::uint32_t what) {
    std::size_t size = 0;
    if (!api.call(api.clGetPlatformInfo, platform, what, std::size_t{0}, static_cast<void*>(nullptr), &size).ok())
        return "";
    std::vector<char> bytes(size);
    const auto none = static_cast<std::size_t*>(nullptr);
    if (!api.call(api.clGetPlatformInfo, platform, what, size, static_cast<void*>(bytes.data()), none).ok()) return "";
    return text_of(bytes);
}

std::string device_text(const Api& api, Device device, std::uint32_t what) {
    std::size_t size = 0;
    if (!api.call(api.clGetDeviceInfo, device, what, std::size_t{0}, static_cast<void*>(nullptr), &size).ok())
        return "";
    std::vector<char> bytes(size);
    const auto none = static_cast<std::size_t*>(nullptr);
    if (!api.call(api.clGetDeviceInfo, device, what, size, static_cast<void*>(bytes.data()), none).ok()) return "";
    return text_of(bytes);
}

template <typename T>
std::optional<T> device_value(const Api& api, Device device, std::uint32_t what) {
    T value{};
    const auto none = static_cast<std::size_t*>(nullptr);
    if (!api.call(api.clGetDeviceInfo, device, what, sizeof value, static_cast<void*>(&value), none).ok()) {
        return std::nullopt;
    }
    return value;
}

// Three vendors, three ways to say where a device sits; the Khronos one first.
std::string pci_address(const Api& api, Device device) {
    std::array<char, 32> text{};
    if (const auto pci = device_value<PciBusInfo>(api, device, device_pci_bus_info_khr)) {
        std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->device, pci->function);
        return text.data();
    }
    if (const auto bus = device_value<std::uint32_t>(api, device, device_pci_bus_nv)) {
        const auto slot = device_value<std::uint32_t>(api, device, device_pci_slot_nv).value_or(0);
        const auto domain = device_value<std::uint32_t>(api, device, device_pci_domain_nv).value_or(0);
        std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", domain, *bus, slot >> 3, slot & 7);
        return text.data();
    }
    // cl_device_topology_amd: type 1 (PCI Express), then bus, device and function in bytes 21 to 23.
    if (const auto amd = device_value<std::array<unsigned char, 24>>(api, device, device_topology_amd);
        amd && (*amd)[0] == 1) {
        std::snprintf(text.data(), text.size(), "0000:%02x:%02x.%x", (*amd)[21], (*amd)[22], (*amd)[23]);
        return text.data();
    }
    return "";
}

Entry describe(Platform platform, Device device, const Api& api, const std::string& library) {
    Entry entry{platform, device, api, library, false, false, {}};
    const Flags type = device_value<Flags>(api, device, device_type).value_or(0);
    entry.is_cpu = (type & device_type_cpu) != 0;
    entry.is_pocl = platform_text(api, platform, platform_name) == "Portable Computing Language";
    DeviceInfo& info = entry.info;
    info.backend = "opencl";
    info.name = device_text(api, device, device_name);
    info.vendor = device_text(api, device, device_vendor);
    info.driver_version = device_text(api, device, device_driver_version);
    info.api_version = device_text(api, device, device_version);
    info.memory_bytes = device_value<std::uint64_t>(api, device, device_global_mem_size).value_or(0);
    info.shares_host_memory =
        entry.is_cpu || device_value<Bool>(api, device, device_host_unified_memory).value_or(0) != 0;
    info.pci_address = pci_address(api, device);
    info.conditions["platform"] =
        platform_text(api, platform, platform_name) + ", " + platform_text(api, platform, platform_version);
    return entry;
}

void add_devices(const Source& source, std::set<std::string>& seen, Registry& registry) {
    for (const auto& [platform, api] : source.platforms) {
        const std::string key =
            platform_text(api, platform, platform_name) + platform_text(api, platform, platform_version);
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

Registry find_devices(const std::vector<std::string>& drivers) {
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
        registry.absent_because = "the OpenCL loader is there, but no driver is installed for it";
    }
    return registry;
}

}  // namespace isthmus::opencl
