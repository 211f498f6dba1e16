// What the recorder knows of the thread that calls it.
#pragma once

#include <cstdint>

#include "trace/writer.hpp"
#include "tracer/functions.hpp"

namespace isthmus::tracer {

// The call that a thread is in: the outermost, for the runtime calls the driver.
struct ThreadState {
    trace::Writer* writer = nullptr;
    trace::TraceFile* file = nullptr;
    std::uint32_t thread = 0;
    // Calls within calls, and whether this library itself is calling.
    unsigned depth = 0;
    bool busy = false;

    Role role = Role::ignored;
    std::uint64_t start_ns = 0;
    std::uint32_t correlation = 0, site = 0;
    std::optional<CopyOperands> operands;
    std::optional<Memory> memory;

    // Of the calling thread; made at the first call, and given back when the thread ends.
    static ThreadState& of_this_thread(trace::TraceFile& file);
};

}  // namespace isthmus::tracer
