// NVML, opened at run time: readings of a device's link and condition. Optional: its absence never fails anything.
#pragma once

#include <array>

#include "driver/library.hpp"

namespace isthmus::nvml {

using Device = struct DeviceTag*;
using ReturnCode = int;

inline constexpr ReturnCode success = 0;
inline constexpr int temperature_gpu = 0;
inline constexpr int clock_sm = 1;
inline constexpr int clock_memory = 2;
inline constexpr int p2p_nvlink = 2;
inline constexpr int p2p_ok = 0;
inline constexpr int feature_enabled = 1;
inline constexpr int virtualization_vgpu = 2;

// struct nvmlConfComputeSystemState_t
struct ConfidentialState {
    unsigned environment;
    unsigned feature;
    unsigned development_tools;
};

// struct nvmlUtilization_t, in per cent
struct Utilization {
    unsigned gpu;
    unsigned memory;
};

// struct nvmlPciInfo_t
struct PciInfo {
    std::array<char, 16> short_bus_id;
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    std::array<char, 32> bus_id;
};

// X(function, exported symbol, first driver branch, parameters)
#define ISTHMUS_NVML_FUNCTIONS(X)                                                                                     \
    X(nvmlInit, "nvmlInit_v2", "driver R304", ())                                                                     \
    X(nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion", "driver R304", (char*, unsigned))                     \
    X(nvmlDeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", "driver R340", (const char*, Device*))       \
    X(nvmlDeviceGetCurrPcieLinkGeneration, "nvmlDeviceGetCurrPcieLinkGeneration", "driver R304", (Device, unsigned*)) \
    X(nvmlDeviceGetCurrPcieLinkWidth, "nvmlDeviceGetCurrPcieLinkWidth", "driver R304", (Device, unsigned*))           \
    X(nvmlDeviceGetMaxPcieLinkGeneration, "nvmlDeviceGetMaxPcieLinkGeneration", "driver R304", (Device, unsigned*))   \
    X(nvmlDeviceGetMaxPcieLinkWidth, "nvmlDeviceGetMaxPcieLinkWidth", "driver R304", (Device, unsigned*))             \
    X(nvmlDeviceGetPcieReplayCounter, "nvmlDeviceGetPcieReplayCounter", "driver R304", (Device, unsigned*))           \
    X(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature", "driver R304", (Device, int, unsigned*))                  \
    X(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", "driver R304", (Device, int, unsigned*))                      \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons", "driver R340",          \
      (Device, unsigned long long*))                                                                                  \
    X(nvmlDeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates", "driver R304", (Device, Utilization*))          \
    X(nvmlDeviceGetVirtualizationMode, "nvmlDeviceGetVirtualizationMode", "driver R384", (Device, int*))              \
    X(nvmlDeviceGetTopologyCommonAncestor, "nvmlDeviceGetTopologyCommonAncestor", "driver R352",                      \
      (Device, Device, int*))                                                                                         \
    X(nvmlDeviceGetP2PStatus, "nvmlDeviceGetP2PStatus", "driver R384", (Device, Device, int, int*))                   \
    X(nvmlDeviceGetNvLinkState, "nvmlDeviceGetNvLinkState", "driver R375", (Device, unsigned, int*))                  \
    X(nvmlDeviceGetNvLinkRemotePciInfo, "nvmlDeviceGetNvLinkRemotePciInfo_v2", "driver R410",                         \
      (Device, unsigned, PciInfo*))                                                                                   \
    X(nvmlDeviceGetMigMode, "nvmlDeviceGetMigMode", "driver R450", (Device, unsigned*, unsigned*))                    \
    X(nvmlSystemGetConfComputeState, "nvmlSystemGetConfComputeState", "driver R535", (ConfidentialState*))

struct Api {
#define ISTHMUS_DECLARE(function, symbol, since, parameters) \
    Function<ReturnCode parameters> function{symbol, since, nullptr};
    ISTHMUS_NVML_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE

    // Fails with library_absent, or call_failed when NVML does not start.
    static Result<Api> open();
};

}  // namespace isthmus::nvml
