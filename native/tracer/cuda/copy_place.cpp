// Where a copy is made, of which its device need not tell.
#include "tracer/cuda/copy_place.hpp"

#include <dlfcn.h>

#include "driver/cuda_api.hpp"

namespace isthmus::tracer {
namespace {

// Handles that stand for a default stream: that of all threads, and the thread's own.
constexpr std::uint64_t legacy_stream = 1, per_thread_stream = 2;

// Threads mostly use one stream many times.
struct Last {
    bool known = false;
    void* context = nullptr;
    std::uint64_t stream = 0;
    bool thread_stream = false;
    CopyPlace place;
};
thread_local Last last;

}  // namespace

CopyPlace place_of(const cupti::Api& api, const CopyOperands& copied, void* context) {
    const std::uint64_t handle = copied.stream.value_or(0);
    const bool thread_stream = handle == per_thread_stream || (handle == 0 && copied.thread_stream);
    const std::uint64_t stream = handle == legacy_stream || handle == per_thread_stream ? 0 : handle;
    if (!last.known || context != last.context || stream != last.stream || thread_stream != last.thread_stream) {
        last = {.known = true, .context = context, .stream = stream, .thread_stream = thread_stream, .place = {}};
        if (api.cuptiGetDeviceId) api.cuptiGetDeviceId(context, &last.place.device);
        if (api.cuptiGetStreamIdEx) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle that came as a parameter's bits.
            void* const queue = reinterpret_cast<void*>(stream);
            api.cuptiGetStreamIdEx(context, queue, thread_stream ? 1 : 0, &last.place.stream);
        }
    }
    return last.place;
}

namespace {

// As the driver numbers types of memory; 0 of what it knows nothing of, -1 where it cannot be asked.
int memory_type(std::uint64_t address) {
    using Ask = int (*)(unsigned, int*, void**, std::uint64_t);
    // The driver that the program has loaded. It is not called here for the first time: the call that this is asked
    // for was its own.
    static const Ask ask = [] {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        return driver != nullptr ? reinterpret_cast<Ask>(dlsym(driver, "cuPointerGetAttributes")) : nullptr;
    }();
    if (ask == nullptr) return -1;
    int attribute = cuda::pointer_attribute_memory_type;
    int type = 0;
    void* value = &type;
    return ask(1, &attribute, &value, address) == cuda::success ? type : -1;
}

}  // namespace

bool is_ordinary_memory(std::uint64_t address) {
    return memory_type(address) == 0;
}

bool is_host_memory(std::uint64_t address) {
    const int type = memory_type(address);
    return type == 0 || type == cuda::memory_type_host;
}

}  // namespace isthmus::tracer
