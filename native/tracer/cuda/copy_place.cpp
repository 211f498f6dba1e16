// Where a copy is made, of which its device need not tell.
#include "tracer/cuda/copy_place.hpp"

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

}  // namespace isthmus::tracer
