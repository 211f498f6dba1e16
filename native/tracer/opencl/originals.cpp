// The program's own OpenCL.
#include "tracer/opencl/originals.hpp"

#include <dlfcn.h>

#include "driver/opencl_loader.hpp"

namespace isthmus::tracer {

const opencl::Api& originals() {
    static const opencl::Api& found = *new opencl::Api(opencl::Api::found_by([](const char* function) {
        static void* const loader = opencl::loaded_loader();
        void* const next = dlsym(RTLD_NEXT, function);
        return next != nullptr || loader == nullptr ? next : dlsym(loader, function);
    }));
    return found;
}

}  // namespace isthmus::tracer
