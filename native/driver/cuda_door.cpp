// The door into the CUDA driver: no call that a thread makes inside can disturb a graph that is being captured.
#include "driver/cuda_door.hpp"

namespace isthmus::cuda {
namespace {

struct Inside {
    unsigned depth = 0;
    int outer_mode = stream_capture_mode_global;  // that the thread has outside
};
thread_local Inside inside;

int exchange_mode(const Api& api, int mode) noexcept {
    const auto& exchange = api.cuThreadExchangeStreamCaptureMode;
    return exchange && api.usable().ok() && exchange(&mode) == success ? mode : stream_capture_mode_global;
}

}  // namespace

void Door::enter(const Api& api) noexcept {
    if (inside.depth++ == 0) inside.outer_mode = exchange_mode(api, stream_capture_mode_relaxed);
}

void Door::leave(const Api& api) noexcept {
    if (inside.depth == 0) return;
    inside.depth--;
    if (inside.depth == 0) (void)exchange_mode(api, inside.outer_mode);
}

}  // namespace isthmus::cuda
