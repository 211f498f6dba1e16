// What the recorder knows of the thread that calls it.
#pragma once

#include <cstdint>

#include "trace/writer.hpp"

namespace isthmus::tracer {

struct ThreadState {
    trace::Writer* writer = nullptr;
    trace::TraceFile* file = nullptr;
    std::uint32_t thread = 0;
    // Whether this library itself is calling.
    bool busy = false;

    // Of the calling thread; made at the first call, and given back when the thread ends.
    static ThreadState& of_this_thread(trace::TraceFile& file);
};

}  // namespace isthmus::tracer
