// A vendor library opened at run time.
#include "driver/library.hpp"

#include <dlfcn.h>

namespace isthmus {

Result<Library> Library::open(std::span<const std::string> names) {
    std::string tried;
    for (const std::string& name : names) {
        if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle, name);
        const char* reason = dlerror();
        tried += (tried.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : name);
    }
    return Status(Code::library_absent, tried);
}

std::optional<Library> Library::open_loaded(std::span<const std::string> names) {
    for (const std::string& name : names) {
        if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return Library(handle, name);
    }
    return std::nullopt;
}

void* Library::symbol(const char* symbol) const {
    return dlsym(handle_, symbol);
}

}  // namespace isthmus
