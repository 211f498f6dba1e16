// The functions of the fake CUDA driver that tell of it and of its devices: a part of fake_cuda.cpp.
#pragma once

int cuInit(unsigned) {
    fake::refuse_forked(__func__);
    fake::load_tool();
    const char* code = std::getenv("FAKE_CUDA_INIT");
    return code != nullptr ? std::atoi(code) : success;
}
int cuDriverGetVersion(int* version) {
    fake::refuse_forked(__func__);
    return *version = 11040, success;
}
int cuGetErrorName(int code, const char** name) {
    fake::refuse_forked(__func__);
    *name = code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == no_device   ? "CUDA_ERROR_NO_DEVICE"
                                  : "CUDA_ERROR";
    return success;
}
int cuGetErrorString(int, const char** text) {
    fake::refuse_forked(__func__);
    return *text = "says the fake driver", success;
}
int cuDeviceGetCount(int* count) {
    fake::refuse_forked(__func__);
    return *count = devices(), success;
}
int cuDeviceGet(int* device, int index) {
    fake::refuse_forked(__func__);
    return *device = index, index < devices() ? success : 101;
}
int cuDeviceGetName(char* name, int bytes, int) {
    fake::refuse_forked(__func__);
    return std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes)), success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    fake::refuse_forked(__func__);
    return *bytes = fake::limit("FAKE_CUDA_MEMORY"), success;
}
// Attributes 19, 83, 89 and 99: it maps host memory, has managed memory that migrates on demand, and registers; 88: it
// reaches ordinary memory if FAKE_CUDA_HMM is set; 11: its 2-D copies take pitches of FAKE_CUDA_PITCH at most; 16: it
// has as many multiprocessors as an H100.
int cuDeviceGetAttribute(int* value, int attribute, int) {
    fake::refuse_forked(__func__);
    return *value = attribute == 75                      ? 6
                    : attribute == 18 || attribute == 76 ? 0
                    : attribute == 88                    ? std::getenv("FAKE_CUDA_HMM") != nullptr
                    : attribute == 16                    ? 132
                    : attribute == 11                    ? static_cast<int>(fake::most_pitch())
                    : attribute == 22 || attribute == 23 ? 65536
                                                         : 1,
           success;
}
int cuDeviceGetUuid(char* uuid, int) {
    fake::refuse_forked(__func__);
    return std::memset(uuid, 7, 16), success;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
    fake::refuse_forked(__func__);
    return std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%X:00.0", 0xAF + device), success;
}
