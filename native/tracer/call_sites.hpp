// Where in the program a call came from, as a text of the trace: its lines of Python, its native frames, or both.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "trace/writer.hpp"
#include "tracer/python_frames.hpp"

namespace isthmus::tracer {

class CallSites {
  public:
    // Either kind of frames may be left out.
    CallSites(trace::TraceFile& file, std::optional<PythonFrames> python, bool native)
        : file_(file), python_(python), native_(native) {}

    bool known() const { return python_.has_value() || native_; }
    // The text of where the calling thread is, one frame a line, the innermost first; 0 where nothing is known.
    std::uint32_t here();

  private:
    static constexpr std::size_t most_native = 32;
    using Addresses = std::array<void*, most_native>;

    std::uint32_t describe(const PythonFrames::Places& places, std::size_t count, const Addresses& addresses,
                           std::size_t native_count);

    trace::TraceFile& file_;
    std::optional<PythonFrames> python_;
    bool native_;
    std::mutex mutex_;
    // By a hash of the frames.
    std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

}  // namespace isthmus::tracer
