// A loader of OpenCL, as the real ones are: each function is that of the driver whose object it is called with.
//
// OPENCL_DRIVER  the path of the one driver
#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "driver/opencl_api.hpp"

using namespace isthmus::opencl;

namespace {

using GetPlatforms = ReturnCode (*)(std::uint32_t, Platform*, std::uint32_t*);
using Destroyed = void (*)(Context, void*);

constexpr Properties context_platform = 0x1084;

template <typename First, typename... Others>
const void* object_of(First first, Others...) {
    return first;
}
template <typename... Others>
const void* object_of(std::uint32_t count, const Event* list, Others...) {
    return count == 0 || list == nullptr ? nullptr : list[0];
}
template <typename... Others>
const void* object_of(const Properties*, std::uint32_t count, const Device* devices, Others...) {
    return count == 0 || devices == nullptr ? nullptr : devices[0];
}
template <typename... Others>
const void* object_of(const Properties* properties, Flags, Others...) {
    for (; properties != nullptr && properties[0] != 0; properties += 2) {
        if (properties[0] == context_platform) return reinterpret_cast<const void*>(properties[1]);
    }
    return nullptr;
}

template <std::size_t place, typename Signature>
struct Stub;
template <std::size_t place, typename Result, typename... Parameters>
struct Stub<place, Result(Parameters...)> {
    static Result call(Parameters... parameters) {
        const void* object = object_of(parameters...);
        if (object == nullptr) {
            if constexpr (std::is_void_v<Result>) {
                return;
            } else if constexpr (std::is_pointer_v<Result>) {
                return nullptr;
            } else {
                return -30;
            }
        }
        void* const* const table = *static_cast<void* const* const*>(object);
        return reinterpret_cast<Result (*)(Parameters...)>(table[place])(parameters...);
    }
};

}  // namespace

extern "C" {

ReturnCode clGetPlatformIDs(std::uint32_t most, Platform* platforms, std::uint32_t* count) {
    static const GetPlatforms get = [] {
        const char* path = std::getenv("OPENCL_DRIVER");
        void* const driver = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (driver == nullptr) return GetPlatforms{nullptr};
        const auto address = reinterpret_cast<void* (*)(const char*)>(dlsym(driver, "clGetExtensionFunctionAddress"));
        return address == nullptr ? nullptr : reinterpret_cast<GetPlatforms>(address("clIcdGetPlatformIDsKHR"));
    }();
    return get == nullptr ? -1001 : get(most, platforms, count);
}

#define DEFINE(function, place, since, result, parameters)                                                       \
    static void* stub_of_##function() { return reinterpret_cast<void*>(&Stub<place, result parameters>::call); } \
    result function parameters __attribute__((ifunc("stub_of_" #function)));
ISTHMUS_OPENCL_FUNCTIONS(DEFINE)
DEFINE(clCreateContextFromType, 5, "", Context, (const Properties*, Flags, ContextNotify, void*, ReturnCode*))
DEFINE(clRetainContext, 6, "", ReturnCode, (Context))
DEFINE(clSetContextDestructorCallback, 148, "", ReturnCode, (Context, Destroyed, void*))
}
