// NVML, opened at run time.
#include "driver/nvml_api.hpp"

namespace isthmus::nvml {

Result<Api> Api::open() {
    ISTHMUS_TRY_ASSIGN(library, Library::open({"libnvidia-ml.so.1"}));
    Api api;
#define ISTHMUS_LOAD(function, symbol_name, since, parameters) \
    api.function.pointer = reinterpret_cast<decltype(api.function.pointer)>(library.symbol(symbol_name));
    ISTHMUS_NVML_FUNCTIONS(ISTHMUS_LOAD)
#undef ISTHMUS_LOAD
    if (!api.nvmlInit) return api.nvmlInit.absent();
    if (const ReturnCode code = api.nvmlInit(); code != success) {
        return Status(Code::call_failed, "nvmlInit_v2 failed with code " + std::to_string(code));
    }
    return api;
}

}  // namespace isthmus::nvml
