// The OpenCL devices of this process, from the loader and from drivers opened without it.
#pragma once

#include <string>
#include <vector>

#include "backend/device_info.hpp"
#include "driver/opencl_api.hpp"

namespace isthmus::opencl {

struct Entry {
    Platform platform;
    Device device;
    Api api;
    std::string library;
    bool is_cpu = false;
    bool has_tables = false;  // its objects begin with the address of its functions (cl_khr_icd)
    DeviceInfo info;
};

struct Registry {
    std::vector<Entry> entries;  // GPUs and accelerators first, then CPUs; the index is the device's number
    std::vector<std::string> looked_for;
    std::string absent_because;
};

// What is known of a device, but for its number.
Entry describe(Platform platform, Device device, const Api& api, const std::string& library);

// `drivers` are paths of OpenCL drivers to open without a loader, such as PoCL's library in its Python package; one
// whose platform the loader offers already is left out. Libraries are opened once a process.
Registry find_devices(const std::vector<std::string>& drivers);

}  // namespace isthmus::opencl
