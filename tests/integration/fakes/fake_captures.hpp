// Streams that record graphs, and what that forbids other calls, in the fake CUDA driver: as a real one was recorded
// (../drivers/facts).
#pragma once

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "fake_streams.hpp"

namespace fake {

constexpr int capture_unsupported = 900;
constexpr int capture_invalidated = 901;
constexpr int capture_isolation = 905;
constexpr int capture_implicit = 906;
constexpr int captured_event = 907;

// As CUstreamCaptureMode: what this thread may call while others record.
constexpr int global = 0;
constexpr int of_thread_alone = 1;
constexpr int relaxed = 2;
inline thread_local int capture_mode = global;

struct Capture {
    Stream* stream = nullptr;
    int mode = global;
    std::thread::id begun_by;
    bool is_broken = false;
};

// All functions: with `world` held. Those that refuse a call break what is recorded, too, as a real driver does.
class Captures {
  public:
    void begin(Stream& stream, int mode) { all_.push_back({&stream, mode, std::this_thread::get_id()}); }
    // Whether it was still whole.
    bool end(const Stream& stream) {
        const Capture ended = *find(stream);
        std::erase_if(all_, [&](const Capture& one) { return one.stream == &stream; });
        return !ended.is_broken;
    }
    void forget(const void* context) {
        std::erase_if(all_, [context](const Capture& one) { return one.stream->context == context; });
    }
    bool is_broken(const Stream& stream) {
        const Capture* const capture = find(stream);
        return capture != nullptr && capture->is_broken;
    }
    // Of a call that might be meant for a graph, whatever it names.
    bool forbid() {
        if (capture_mode == relaxed) return false;
        return break_if([](const Capture& one) {
            const bool is_own = one.begun_by == std::this_thread::get_id();
            return one.mode != relaxed && (is_own || (one.mode == global && capture_mode == global));
        });
    }
    // Of one that waits for all that a context has.
    bool forbid_all(const void* context) {
        return break_if([context](const Capture& one) { return one.stream->context == context; });
    }
    // Of one that needs the legacy stream, while a stream that waits for it is recorded.
    bool forbid_legacy(const void* context) {
        return break_if(
            [context](const Capture& one) { return one.stream->context == context && one.stream->is_blocking; });
    }
    bool would_forbid_legacy(const void* context) const {
        return std::any_of(all_.begin(), all_.end(), [context](const Capture& one) {
            return one.stream->context == context && one.stream->is_blocking;
        });
    }
    // Of one that asks a stream for what it has not while it is recorded.
    bool forbid(const Stream& stream) {
        return break_if([&](const Capture& one) { return one.stream == &stream; });
    }

  private:
    Capture* find(const Stream& stream) {
        const auto found =
            std::find_if(all_.begin(), all_.end(), [&](const Capture& one) { return one.stream == &stream; });
        return found == all_.end() ? nullptr : &*found;
    }
    template <typename Condition>
    bool break_if(Condition condition) {
        bool any = false;
        for (Capture& capture : all_) {
            if (!condition(std::as_const(capture))) continue;
            any = capture.is_broken = true;
        }
        return any;
    }
    std::vector<Capture> all_;
};
inline Captures& captures = *new Captures;

inline bool is_captured(void* handle, void* context) {
    const Stream* stream = streams.find(handle, context);
    return stream != nullptr && stream->recorded != nullptr;
}

inline bool is_legacy(const void* handle) {
    return reinterpret_cast<std::uintptr_t>(handle) <= 1;
}

// What a call that names this stream is refused with, for being captured itself or behind one that is.
inline int refusal_of_asking(void* handle, void* context) {
    Stream* const stream = streams.find(handle, context);
    if (stream == nullptr) return 0;
    if (is_legacy(handle) && captures.forbid_legacy(context)) return capture_implicit;
    return captures.forbid(*stream) ? capture_unsupported : 0;
}

}  // namespace fake
