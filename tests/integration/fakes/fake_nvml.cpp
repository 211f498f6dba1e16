// An NVML that does not start (FAKE_NVML_INIT is its code), or that starts and knows next to nothing, as under MIG.
#include <cstdlib>
#include <cstring>

constexpr int not_supported = 3;

extern "C" {

int nvmlInit_v2() {
    const char* code = std::getenv("FAKE_NVML_INIT");
    return code != nullptr ? std::atoi(code) : 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
    return std::strncpy(version, "525.60.13", bytes), 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
    return *device = device, 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
    return *generation = 4, 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned*) {
    return not_supported;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    return *celsius = 41, 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned*) {
    return not_supported;
}

}  // extern "C"
