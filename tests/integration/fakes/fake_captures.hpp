// Streams that record graphs, and what that forbids other calls, in the fake CUDA driver.
#pragma once

#include "fake_streams.hpp"

namespace fake {

constexpr int capture_unsupported = 900;
constexpr int capture_invalidated = 901;
constexpr int capture_implicit = 906;

// As CUstreamCaptureMode: what this thread may call while others record.
constexpr int global = 0;
constexpr int relaxed = 2;
inline thread_local int capture_mode = global;

// All functions: with `world` held.
struct Captures {
    // A call that is not safe while a stream anywhere records in the mode that forbids it everywhere: as with a real
    // driver it breaks what is recorded, too.
    bool forbid() {
        if (capture_mode == relaxed || global_ones == 0) return false;
        broken = true;
        return true;
    }
    unsigned global_ones = 0;
    bool broken = false;
};
inline Captures captures;

inline bool is_captured(void* handle, void* context) {
    const Stream* stream = streams.find(handle, context);
    return stream != nullptr && stream->recorded != nullptr;
}

}  // namespace fake
