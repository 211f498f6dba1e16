// An NVML that does not start (FAKE_NVML_INIT is its code), or that starts and knows next to nothing, as under MIG.
#include <cstdlib>
#include <cstring>

#include "fake_violations.hpp"

constexpr int not_supported = 3;

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
    return *generation = 4, 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned*) {
    fake::refuse_forked(__func__);
    return not_supported;
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
