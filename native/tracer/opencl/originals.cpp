// The program's own OpenCL.
#include "tracer/opencl/originals.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

namespace isthmus::tracer {
namespace {

// Wheels of Python bring a loader of their own, often under a longer name, which only they see.
void* own_loader() {
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

}  // namespace

const opencl::Api& originals() {
    static const opencl::Api& found = *new opencl::Api(opencl::Api::found_by([](const char* function) {
        static void* const loader = own_loader();
        void* const next = dlsym(RTLD_NEXT, function);
        return next != nullptr || loader == nullptr ? next : dlsym(loader, function);
    }));
    return found;
}

}  // namespace isthmus::tracer
