// CUPTI, opened at run time: what counts migrations of managed memory.
#include "driver/cupti_api.hpp"

#include <array>

namespace isthmus::cupti {
namespace {

const char* remedy(ReturnCode code) {
    switch (code) {
        case error_multiple_subscribers_not_supported:
            return "another profiler holds CUPTI in this process (Nsight, a framework's profiler, a tracer): measure "
                   "without it to count migrations";
        case error_insufficient_privileges:
        case error_virtualized_device_insufficient_privileges:
            return "the driver lets administrators alone profile: run as root, in a container with --cap-add "
                   "SYS_ADMIN, or load the kernel module with NVreg_RestrictProfilingToAdminUsers=0";
        case error_um_profiling_not_supported:
        case error_um_profiling_not_supported_on_device:
            return "migrations of managed memory cannot be counted on this device; in a container, look whether "
                   "/dev/nvidia-uvm-tools is there";
        case error_um_profiling_not_supported_on_non_p2p_devices:
            return "migrations cannot be counted while devices without peer access are visible: choose one with "
                   "CUDA_VISIBLE_DEVICES";
        case error_um_profiling_not_supported_with_mps:
            return "migrations cannot be counted under the multi-process service: stop it, or measure outside of it";
        case error_unknown:
            return "as a rule the library is newer than the driver: install a libcupti of the driver's CUDA version "
                   "(pip install nvidia-cuda-cupti==13.0.* for CUDA 13.0)";
        default: return "timing alone says how pages move; to count them, look for the code in CUPTI's documentation";
    }
}

}  // namespace

Result<Api> Api::open(std::span<const std::string> names) {
    static const std::array<std::string, 2> sonames{"libcupti.so.13", "libcupti.so.12"};
    auto found = Library::open_loaded(sonames);
    ISTHMUS_TRY_ASSIGN(library, found ? Result<Library>(*found) : Library::open(names));
    Api api;
    api.library = library.name();
#define ISTHMUS_LOAD(function, symbol_name, since, parameters) \
    api.function.pointer = reinterpret_cast<decltype(api.function.pointer)>(library.symbol(symbol_name));
    ISTHMUS_CUPTI_FUNCTIONS(ISTHMUS_LOAD)
#undef ISTHMUS_LOAD
    return api;
}

Status Api::failure(const char* function, ReturnCode code) const {
    const char* name = nullptr;
    if (cuptiGetResultString) cuptiGetResultString(code, &name);
    std::string message = std::string(function) + " of " + library + " failed: ";
    message += std::string(name != nullptr ? name : "CUPTI error") + " (" + std::to_string(code) + "); ";
    return unsupported(message + remedy(code));
}

}  // namespace isthmus::cupti
