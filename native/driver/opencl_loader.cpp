// The OpenCL that a program brought along.
#include "driver/opencl_loader.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

namespace isthmus::opencl {

void* loaded_loader() {
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            const std::string_view name(info->dlpi_name != nullptr ? info->dlpi_name : "");
            if (name.substr(name.rfind('/') + 1).find("libOpenCL") == std::string_view::npos) return 0;
            *static_cast<std::string*>(found) = name;
            return 1;
        },
        &path);
    // Not from within the above, which holds a lock of the linker.
    return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace isthmus::opencl
