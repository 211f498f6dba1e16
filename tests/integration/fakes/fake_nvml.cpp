// An NVML that does not start (FAKE_NVML_INIT is its code), or that starts and knows next to nothing, as under MIG.
// FAKE_NVML_LINK tells of a link: generation and width now, then at most, such as "5 8 5 16"; FAKE_NVML_REPLAYS how
// many packets more were sent again at each look.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_violations.hpp"

namespace {

constexpr int not_supported = 3;

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
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
    fake::refuse_forked(__func__);
    return *device = device, 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
    fake::refuse_forked(__func__);
    return part_of_link(0, generation) == 0 ? 0 : (*generation = 4, 0);
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
    fake::refuse_forked(__func__);
    return part_of_link(1, width);
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
