// Opens a device by the name that a user gives.
#include "capi/devices.hpp"

#include <charconv>
#include <optional>
#include <string>

#include "backend/cuda/cuda_device.hpp"
#include "backend/host/host_device.hpp"
#include "backend/opencl/opencl_device.hpp"

namespace isthmus::capi {
namespace {

// All of `text` as a number; an empty one is the first device.
std::optional<int> index_of(std::string_view text) {
    int index = 0;
    if (text.empty()) return index;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, index);
    if (error != std::errc() || stopped != end || index < 0) return std::nullopt;
    return index;
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(std::string_view name) {
    const std::size_t colon = name.find(':');
    const std::string_view backend = name.substr(0, colon);
    const std::string_view rest = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
    if (backend == "host") {
        ISTHMUS_TRY_ASSIGN(model, host::Model::parse(std::string(rest)));
        return host::open_device(std::move(model));
    }
    const std::string quoted = "'" + std::string(name) + "'";
    if (backend != "cuda" && backend != "opencl") {
        return Status(Code::invalid_argument,
                      "no device is called " + quoted + "; expected cuda:0, opencl:0, host, or null for the best one");
    }
    const std::optional<int> index = index_of(rest);
    if (!index) {
        return Status(Code::invalid_argument, "no device is called " + quoted + "; after " + std::string(backend) +
                                                  ": a number is expected, such as " + std::string(backend) + ":0");
    }
    if (backend == "cuda") return cuda::open_device(*index);
    return opencl::open_device(*index, {});
}

Result<std::shared_ptr<Device>> open_best_device() {
    if (!cuda::list_devices().devices.empty()) return cuda::open_device(0);
    const BackendListing listing = opencl::list_devices({});
    if (listing.devices.empty()) return host::open_device({});
    const DeviceInfo* best = &listing.devices.front();
    for (const DeviceInfo& info : listing.devices) {
        if (best->shares_host_memory && !info.shares_host_memory) best = &info;
    }
    return opencl::open_device(best->index, {});
}

}  // namespace isthmus::capi
