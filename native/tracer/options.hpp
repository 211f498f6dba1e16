// What the environment asks of the libraries that trace.
//
// ISTHMUS_TRACE         off: nothing is traced
// ISTHMUS_TRACE_FOLDER  where each process puts its part of the trace, and a message if it cannot
// ISTHMUS_TRACE_OPTIONS stacks, contents, no-python, no-kernels, kernels=5 (per cent), all-times, separated by commas
#pragma once

#include <optional>
#include <string>

namespace isthmus::tracer {

struct Options {
    std::string folder;
    bool native_stacks = false;
    bool contents = false;
    bool python_lines = true;
    bool kernels = true;
    // What recording them may cost of the program's time; 1: all are recorded, whatever that costs.
    double kernels_share = 0.05;
    bool all_times = false;

    // Nothing where the process is not to be traced.
    static std::optional<Options> from_environment();
};

// For `isthmus trace` to show: the program's own streams are left alone.
void leave_message(const std::string& folder, const std::string& text);

}  // namespace isthmus::tracer
