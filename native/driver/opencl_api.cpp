// OpenCL, opened at run time through a loader or as one vendor's driver.
#include "driver/opencl_api.hpp"

#include <string_view>
#include <utility>

#include "base/fork.hpp"

namespace isthmus::opencl {
namespace {

using GetPlatforms = ReturnCode (*)(std::uint32_t, Platform*, std::uint32_t*);

const char* name_of(ReturnCode code) {
    switch (code) {
        case device_not_found: return "CL_DEVICE_NOT_FOUND";
        case -3: return "CL_COMPILER_NOT_AVAILABLE";
        case mem_object_allocation_failure: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
        case out_of_resources: return "CL_OUT_OF_RESOURCES";
        case out_of_host_memory: return "CL_OUT_OF_HOST_MEMORY";
        case -11: return "CL_BUILD_PROGRAM_FAILURE";
        case -30: return "CL_INVALID_VALUE";
        case -36: return "CL_INVALID_COMMAND_QUEUE";
        case -38: return "CL_INVALID_MEM_OBJECT";
        case invalid_buffer_size: return "CL_INVALID_BUFFER_SIZE";
        default: return "OpenCL error";
    }
}

Result<std::vector<Platform>> list_platforms(GetPlatforms get, const char* name) {
    std::uint32_t count = 0;
    // The loader answers -1001 (CL_PLATFORM_NOT_FOUND_KHR) when no driver is installed: none, not a failure.
    if (const ReturnCode code = get(0, nullptr, &count); code == -1001 || count == 0) return std::vector<Platform>{};
    std::vector<Platform> platforms(count);
    ISTHMUS_TRY(Api::check(name, get(count, platforms.data(), nullptr)));
    return platforms;
}

// Every object of a driver that follows cl_khr_icd begins with a pointer to its table of functions.
Api api_of(Platform platform) {
    void* const* table = *reinterpret_cast<void* const* const*>(platform);
    Api api;
#define ISTHMUS_LOAD(function, place, since, result, parameters) \
    api.function.pointer = reinterpret_cast<decltype(api.function.pointer)>(table[place]);
    ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_LOAD)
#undef ISTHMUS_LOAD
    return api;
}

}  // namespace

Status usable() {
    static const unsigned begun = fork_generation();
    if (begun == fork_generation()) return {};
    return {Code::call_failed,
            "OpenCL was begun before this process was forked, and works in its parent only: use "
            "multiprocessing.set_start_method(\"spawn\"), or begin in the child and not before the fork"};
}

Status Api::check(const char* function, ReturnCode code) {
    if (code == success) return {};
    const std::string message = std::string(function) + " failed: " + name_of(code) + " (" + std::to_string(code) + ")";
    switch (code) {
        case mem_object_allocation_failure:
        case out_of_resources:
        case out_of_host_memory:
        case invalid_buffer_size: return {Code::out_of_memory, message};
        default: return {Code::call_failed, message};
    }
}

Status Api::complete() const {
#define ISTHMUS_CHECK(function, place, since, result, parameters) \
    if (!function && std::string_view(since) < "OpenCL 2") return function.absent();
    ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_CHECK)
#undef ISTHMUS_CHECK
    return {};
}

Result<Source> open_loader() {
    ISTHMUS_TRY(usable());
    auto opened = Library::open({"libOpenCL.so.1", "libOpenCL.so"});
    if (!opened.ok()) {
        const Status failure = opened.take_status();
        return Status(failure.code(), failure.message() +
                                          "; install the OpenCL loader (Debian and Ubuntu: ocl-icd-libopencl1, Fedora "
                                          "and RHEL: ocl-icd) and the driver of your GPU's vendor, or pocl-opencl-icd "
                                          "for the CPU");
    }
    const Library library = std::move(opened.value());
    const auto get = reinterpret_cast<GetPlatforms>(library.symbol("clGetPlatformIDs"));
    if (get == nullptr) return Status(Code::function_absent, library.name() + " has no clGetPlatformIDs");
    const Api api = Api::found_by([&](const char* function) { return library.symbol(function); });
    ISTHMUS_TRY_ASSIGN(platforms, list_platforms(get, "clGetPlatformIDs"));
    Source source{library.name(), {}};
    for (Platform platform : platforms) source.platforms.emplace_back(platform, api);
    return source;
}

Result<Source> open_driver(const std::string& path) {
    ISTHMUS_TRY(usable());
    ISTHMUS_TRY_ASSIGN(library, Library::open({path}));
    const auto address = reinterpret_cast<void* (*)(const char*)>(library.symbol("clGetExtensionFunctionAddress"));
    const auto get = address == nullptr ? nullptr : reinterpret_cast<GetPlatforms>(address("clIcdGetPlatformIDsKHR"));
    if (get == nullptr) return Status(Code::function_absent, path + " is no OpenCL driver: it lacks cl_khr_icd");
    ISTHMUS_TRY_ASSIGN(platforms, list_platforms(get, "clIcdGetPlatformIDsKHR"));
    Source source{path, {}};
    for (Platform platform : platforms) source.platforms.emplace_back(platform, api_of(platform));
    return source;
}

}  // namespace isthmus::opencl
