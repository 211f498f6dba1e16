// What CUDA and NVML say about a device, without a context and with one.
#include "backend/cuda/describe.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <utility>

namespace isthmus::cuda {
namespace {

std::string version_text(int version) {
    return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string uuid_text(const Uuid& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        std::array<char, 3> hex{};
        std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += hex.data();
    }
    return text;
}

nvml::Device nvml_device(const Driver& driver, const std::string& pci_address) {
    nvml::Device device = nullptr;
    if (!driver.nvml || !driver.nvml->nvmlDeviceGetHandleByPciBusId || pci_address.empty()) return nullptr;
    return driver.nvml->nvmlDeviceGetHandleByPciBusId(pci_address.c_str(), &device) == nvml::success ? device : nullptr;
}

// What is set in nvmlClocksThrottleReasons; idle (bit 0) and application clocks (bit 1) are no trouble.
std::string throttle_text(unsigned long long reasons) {
    static constexpr std::array<std::pair<unsigned long long, const char*>, 6> names{{
        {0x4, "power cap"},
        {0x8, "hardware slowdown"},
        {0x20, "software thermal"},
        {0x40, "hardware thermal"},
        {0x80, "power brake"},
        {0x10, "sync boost"},
    }};
    std::string text;
    for (const auto& [bit, name] : names) {
        if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text.empty() ? "none" : text;
}

std::string throttling_of(const nvml::Api& nvml, nvml::Device device) {
    unsigned long long reasons = 0;
    const bool is_known = nvml.nvmlDeviceGetCurrentClocksThrottleReasons &&
                          nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons) == nvml::success;
    return is_known ? throttle_text(reasons) : std::string();
}

template <typename Function, typename... Arguments>
std::optional<unsigned> reading(const Function& function, Arguments... arguments) {
    unsigned value = 0;
    if (!function || function(arguments..., &value) != nvml::success) return std::nullopt;
    return value;
}

// More than any device has; a link that it does not have is refused.
constexpr unsigned most_nvlinks = 64;

// Of a device those that work, and of these the ones that end at the other device.
struct Nvlinks {
    unsigned active = 0, straight = 0;
};

Nvlinks nvlinks(const nvml::Api& nvml, nvml::Device device, nvml::Device other) {
    Nvlinks found;
    if (!nvml.nvmlDeviceGetNvLinkState) return found;
    for (unsigned link = 0; link < most_nvlinks; ++link) {
        int state = 0;
        if (nvml.nvmlDeviceGetNvLinkState(device, link, &state) != nvml::success) break;
        if (state != nvml::feature_enabled) continue;
        ++found.active;
        nvml::PciInfo far{};
        nvml::Device end = nullptr;
        if (nvml.nvmlDeviceGetNvLinkRemotePciInfo &&
            nvml.nvmlDeviceGetNvLinkRemotePciInfo(device, link, &far) == nvml::success &&
            nvml.nvmlDeviceGetHandleByPciBusId(far.bus_id.data(), &end) == nvml::success && end == other) {
            ++found.straight;
        }
    }
    return found;
}

std::optional<unsigned> busy_percent(const nvml::Api& nvml, nvml::Device device) {
    nvml::Utilization busy{};
    const bool is_read =
        nvml.nvmlDeviceGetUtilizationRates && nvml.nvmlDeviceGetUtilizationRates(device, &busy) == nvml::success;
    return is_read ? std::optional(busy.gpu) : std::nullopt;
}

void add_conditions(const Driver& driver, DeviceInfo& info) {
    if (!driver.nvml) {
        info.conditions["nvml"] = "absent or not started: link, temperature and clocks unknown";
        return;
    }
    const nvml::Api& nvml = *driver.nvml;
    std::array<char, 96> version{};
    if (nvml.nvmlSystemGetDriverVersion &&
        nvml.nvmlSystemGetDriverVersion(version.data(), static_cast<unsigned>(version.size())) == nvml::success) {
        info.driver_version = version.data();
    }
    nvml::ConfidentialState confidential{};
    if (nvml.nvmlSystemGetConfComputeState && nvml.nvmlSystemGetConfComputeState(&confidential) == nvml::success) {
        info.conditions["confidential_computing"] = confidential.feature != 0 ? "on" : "off";
    }
    nvml::Device device = nvml_device(driver, info.pci_address);
    if (device == nullptr) return;
    if (const auto value = reading(nvml.nvmlDeviceGetTemperature, device, nvml::temperature_gpu)) {
        info.conditions["temperature"] = std::to_string(*value) + " C";
    }
    if (const auto value = reading(nvml.nvmlDeviceGetClockInfo, device, nvml::clock_sm)) {
        info.conditions["sm_clock"] = std::to_string(*value) + " MHz";
    }
    if (const auto value = reading(nvml.nvmlDeviceGetClockInfo, device, nvml::clock_memory)) {
        info.conditions["memory_clock"] = std::to_string(*value) + " MHz";
    }
    if (std::string reasons = throttling_of(nvml, device); !reasons.empty()) {
        info.conditions["throttling"] = std::move(reasons);
    }
    unsigned current = 0;
    unsigned pending = 0;
    if (nvml.nvmlDeviceGetMigMode && nvml.nvmlDeviceGetMigMode(device, &current, &pending) == nvml::success) {
        info.conditions["mig"] = current != 0 ? "on" : "off";
    }
    if (const auto busy = busy_percent(nvml, device); busy.value_or(0) > 0) {
        info.conditions["utilization"] = std::to_string(*busy) + " %";
    }
    int mode = 0;
    if (nvml.nvmlDeviceGetVirtualizationMode && nvml.nvmlDeviceGetVirtualizationMode(device, &mode) == nvml::success &&
        mode == nvml::virtualization_vgpu) {
        info.conditions["vgpu"] = "on";
    }
}

}  // namespace

Result<Device> device_at(const Driver& driver, int index) {
    const Api& cu = driver.api;
    Device device = 0;
    Status status = cu.call(cu.cuDeviceGet, &device, index);
    if (status.ok()) return device;
    int count = 0;
    if (!cu.call(cu.cuDeviceGetCount, &count).ok() || (index >= 0 && index < count)) return status;
    return Status(Code::device_absent, "no CUDA device " + std::to_string(index) + "; found " + std::to_string(count) +
                                           ", counted from 0 (`isthmus devices` lists them)");
}

Result<DeviceInfo> describe(const Driver& driver, int index) {
    const Api& cu = driver.api;
    ISTHMUS_TRY_ASSIGN(device, device_at(driver, index));
    DeviceInfo info;
    info.backend = "cuda";
    info.index = index;
    info.vendor = "NVIDIA";
    std::array<char, 256> text{};
    ISTHMUS_TRY(cu.call(cu.cuDeviceGetName, text.data(), static_cast<int>(text.size()), device));
    info.name = text.data();
    std::size_t bytes = 0;
    ISTHMUS_TRY(cu.call(cu.cuDeviceTotalMem, &bytes, device));
    info.memory_bytes = bytes;
    int major = 0;
    int minor = 0;
    ISTHMUS_TRY(cu.call(cu.cuDeviceGetAttribute, &major, attribute_compute_capability_major, device));
    ISTHMUS_TRY(cu.call(cu.cuDeviceGetAttribute, &minor, attribute_compute_capability_minor, device));
    info.compute_capability = std::to_string(major) + "." + std::to_string(minor);
    // From here on a failure costs one field, not the device.
    int value = 0;
    if (cu.call(cu.cuDriverGetVersion, &value).ok()) info.api_version = version_text(value);
    if (cu.call(cu.cuDeviceGetAttribute, &value, attribute_integrated, device).ok())
        info.shares_host_memory = value != 0;
    if (cu.call(cu.cuDeviceGetAttribute, &value, attribute_async_engine_count, device).ok()) info.copy_engines = value;
    Uuid uuid{};
    if (cu.call(cu.cuDeviceGetUuid, &uuid, device).ok()) info.uuid = uuid_text(uuid);
    if (cu.call(cu.cuDeviceGetPCIBusId, text.data(), static_cast<int>(text.size()), device).ok()) {
        info.pci_address = text.data();
        std::ranges::transform(info.pci_address, info.pci_address.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    add_conditions(driver, info);
    info.link = read_link(driver, info.pci_address);
    return info;
}

PeerReading read_peer(const Driver& driver, const std::string& here, const std::string& there) {
    PeerReading found;
    nvml::Device one = nvml_device(driver, here);
    nvml::Device other = nvml_device(driver, there);
    if (one == nullptr || other == nullptr) return found;
    const nvml::Api& nvml = *driver.nvml;
    int level = 0;
    if (nvml.nvmlDeviceGetTopologyCommonAncestor &&
        nvml.nvmlDeviceGetTopologyCommonAncestor(one, other, &level) == nvml::success && level >= 0) {
        found.ancestor = static_cast<unsigned>(level);
    }
    const Nvlinks ours = nvlinks(nvml, one, other);
    if (ours.straight > 0) {
        found.has_nvlink = true;
        found.nvlinks = ours.straight;
        return found;
    }
    // Switches between them have addresses of their own: all links of the device that has fewer may be used.
    int status = 0;
    if (!nvml.nvmlDeviceGetP2PStatus ||
        nvml.nvmlDeviceGetP2PStatus(one, other, nvml::p2p_nvlink, &status) != nvml::success) {
        return found;
    }
    found.has_nvlink = status == nvml::p2p_ok;
    const unsigned least = std::min(ours.active, nvlinks(nvml, other, one).active);
    if (*found.has_nvlink && least > 0) found.nvlinks = least;
    return found;
}

LinkReading read_link(const Driver& driver, const std::string& pci_address) {
    LinkReading link;
    nvml::Device device = nvml_device(driver, pci_address);
    if (device == nullptr) return link;
    const nvml::Api& nvml = *driver.nvml;
    link.generation = reading(nvml.nvmlDeviceGetCurrPcieLinkGeneration, device);
    link.width = reading(nvml.nvmlDeviceGetCurrPcieLinkWidth, device);
    link.max_generation = reading(nvml.nvmlDeviceGetMaxPcieLinkGeneration, device);
    link.max_width = reading(nvml.nvmlDeviceGetMaxPcieLinkWidth, device);
    link.replays = reading(nvml.nvmlDeviceGetPcieReplayCounter, device);
    return link;
}

std::optional<unsigned> read_busy_percent(const Driver& driver, const std::string& pci_address) {
    nvml::Device device = nvml_device(driver, pci_address);
    return device != nullptr ? busy_percent(*driver.nvml, device) : std::nullopt;
}

std::string read_throttling(const Driver& driver, const std::string& pci_address) {
    nvml::Device device = nvml_device(driver, pci_address);
    return device != nullptr ? throttling_of(*driver.nvml, device) : std::string();
}

Result<Features> read_features(const PrimaryContext& context) {
    Features features;
    ISTHMUS_TRY(assign(features.multiprocessors, context.attribute(attribute_multiprocessor_count)));
    // An attribute that an old driver does not know means that the feature is not there.
    const auto has = [&context](int attribute) {
        auto value = context.attribute(attribute);
        return value.ok() && value.value() != 0;
    };
    features.maps_host_memory = has(attribute_can_map_host_memory);
    features.registers_host_memory = has(attribute_host_register_supported);
    features.managed = has(attribute_managed_memory);
    features.concurrent_managed = has(attribute_concurrent_managed_access);
    features.memory_pools = has(attribute_memory_pools_supported);
    return features;
}

}  // namespace isthmus::cuda
