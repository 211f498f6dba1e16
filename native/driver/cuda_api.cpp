// The CUDA driver API, opened at run time.
#include "driver/cuda_api.hpp"

namespace isthmus::cuda {

Result<Api> Api::open() {
    ISTHMUS_TRY_ASSIGN(library, Library::open({"libcuda.so.1"}));
    Api api;
    api.library = library.name();
#define ISTHMUS_LOAD(function, symbol_name, since, parameters) \
    api.function.pointer = reinterpret_cast<decltype(api.function.pointer)>(library.symbol(symbol_name));
    ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_LOAD)
#undef ISTHMUS_LOAD
    return api;
}

Status Api::forked() {
    return {Code::call_failed,
            "CUDA was begun before this process was forked, and works in its parent only: use "
            "multiprocessing.set_start_method(\"spawn\"), or begin in the child and not before the fork"};
}

Status Api::failure(const char* function, ReturnCode code) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (cuGetErrorName) cuGetErrorName(code, &name);
    if (cuGetErrorString) cuGetErrorString(code, &text);
    std::string message = std::string(function) + " failed: " + (name != nullptr ? name : "CUDA error") + " (" +
                          std::to_string(code) + ")";
    if (text != nullptr) message += std::string(": ") + text;
    if (code == error_not_initialized) {
        message +=
            "; a driver that was started before this process was forked does not work in it: create the process with "
            "spawn, or fork before anything opens the device";
    } else if (code == error_context_is_destroyed || code == error_invalid_context) {
        message +=
            "; the device's context may have been destroyed meanwhile (cudaDeviceReset does that): open a new session";
    }
    switch (code) {
        case error_out_of_memory: return {Code::out_of_memory, message};
        case error_no_device: return {Code::device_absent, message};
        case error_not_supported: return unsupported(message);
        default: return {Code::call_failed, message};
    }
}

}  // namespace isthmus::cuda
