// An NVML that does not start (FAKE_NVML_INIT is its code), or that starts and knows next to nothing, as under MIG.
// FAKE_NVML_LINK tells of a link: generation and width now, then at most, such as "5 8 5 16"; FAKE_NVML_REPLAYS how
// many packets more were sent again at each look.
//
// Between devices: FAKE_NVML_STRAIGHT NVLinks from the first one to the second, or FAKE_NVML_SWITCHED of each to a
// switch (0: none); FAKE_NVML_ANCESTOR is the closest that both hang on. Without them it does not say.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_violations.hpp"

namespace {

constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int not_found = 6;

struct RemotePci {
    char short_bus_id[16];
    unsigned numbers[5];
    char bus_id[32];
};

int part_of_link(int part, unsigned* value) {
    unsigned parts[4];
    const char* link = std::getenv("FAKE_NVML_LINK");
    if (link == nullptr || std::sscanf(link, "%u %u %u %u", &parts[0], &parts[1], &parts[2], &parts[3]) != 4) {
        return not_supported;
    }
    return *value = parts[part], 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    fake::refuse_forked(__func__);
    const char* code = std::getenv("FAKE_NVML_INIT");
    return code != nullptr ? std::atoi(code) : 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
    fake::refuse_forked(__func__);
    return std::strncpy(version, "525.60.13", bytes), 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    fake::refuse_forked(__func__);
    unsigned domain = 0, bus = 0;
    if (std::sscanf(address, "%x:%x", &domain, &bus) != 2) return not_found;
    return *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(bus + 1)), 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
    fake::refuse_forked(__func__);
    const char* text = std::getenv("FAKE_NVML_ANCESTOR");
    return text == nullptr ? not_supported : (*level = std::atoi(text), 0);
}
int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
    fake::refuse_forked(__func__);
    const char* text = std::getenv("FAKE_NVML_SWITCHED");
    return text == nullptr ? not_supported : (*status = std::atoi(text) > 0 ? 0 : 1, 0);
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* state) {
    fake::refuse_forked(__func__);
    const char* switched = std::getenv("FAKE_NVML_SWITCHED");
    const char* straight = std::getenv("FAKE_NVML_STRAIGHT");
    const int links = std::atoi(switched != nullptr ? switched : straight != nullptr ? straight : "0");
    if (static_cast<int>(link) >= links) return invalid_argument;
    return *state = 1, 0;
}
// The first device's links end at the second one, and all others' at the first.
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, RemotePci* far) {
    fake::refuse_forked(__func__);
    const unsigned first = 0xAF;
    const bool is_first = reinterpret_cast<std::uintptr_t>(device) == first + 1;
    const unsigned bus = std::getenv("FAKE_NVML_SWITCHED") != nullptr ? 0xF0 : is_first ? first + 1 : first;
    return std::snprintf(far->bus_id, sizeof far->bus_id, "00000000:%02X:00.0", bus), 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
    fake::refuse_forked(__func__);
    return part_of_link(0, generation) == 0 ? 0 : (*generation = 4, 0);
}
// FAKE_NVML_NARROW is the bus, in hexadecimal, of a device that has 8 lanes.
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* width) {
    fake::refuse_forked(__func__);
    const char* narrow = std::getenv("FAKE_NVML_NARROW");
    const bool is_narrow =
        narrow != nullptr && std::strtoul(narrow, nullptr, 16) + 1 == reinterpret_cast<std::uintptr_t>(device);
    return is_narrow ? (*width = 8, 0) : part_of_link(1, width);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
    fake::refuse_forked(__func__);
    return part_of_link(2, generation);
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
    fake::refuse_forked(__func__);
    return part_of_link(3, width);
}
int nvmlDeviceGetPcieReplayCounter(void*, unsigned* replays) {
    fake::refuse_forked(__func__);
    static std::atomic<unsigned> counted = 100;
    const char* more = std::getenv("FAKE_NVML_REPLAYS");
    if (more == nullptr) return not_supported;
    return *replays = counted += static_cast<unsigned>(std::atoi(more)), 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    fake::refuse_forked(__func__);
    return *celsius = 41, 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned*) {
    fake::refuse_forked(__func__);
    return not_supported;
}

}  // extern "C"
