// A command queue of the program, and the commands in it that are not seen to be complete yet.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "trace/writer.hpp"
#include "tracer/opencl/device_clock.hpp"
#include "tracer/opencl/memory_map.hpp"

namespace isthmus::tracer {

struct QueueDevice {
    explicit QueueDevice(opencl::Device device) : clock(device) {}
    std::uint32_t index = 0;
    // It works on the host's own memory, so that mapping moves nothing.
    bool unified = false;
    DeviceClock clock;
};

// What a command does, as far as it is recorded.
struct Command {
    enum class What : std::uint8_t { nothing, copy, fill, kernel };
    What what = What::nothing;
    // Of copies, as CUPTI numbers their kinds.
    std::uint8_t copy_kind = 0;
    Place source, destination;
    std::uint64_t bytes = 0;
    std::uint32_t rows = 1;
    std::uint64_t content = 0;
    // Of kernels, the text of its name.
    std::uint32_t name = 0;
};

struct PendingCommand {
    Command command;
    // Ours to release.
    opencl::Event event = nullptr;
    std::uint32_t correlation = 0;
    // Whether its call waited for it.
    bool waited = false;
    std::uint64_t call_start_ns = 0, call_end_ns = 0;
};

class CommandQueue {
  public:
    CommandQueue(std::uint32_t stream, QueueDevice& device) : stream_(stream), device_(device) {}

    const QueueDevice& device() const { return device_; }

    void add(const PendingCommand& pending);
    // Writes what is complete: up to the first command that is not, or whatever is. Never waits for the device.
    void collect(trace::TraceFile& file, trace::Writer& writer, bool whole);
    bool empty();

  private:
    // False where the command is not complete.
    bool write(const PendingCommand& pending, trace::TraceFile& file, trace::Writer& writer);
    void write(const PendingCommand& pending, const Interval& when, trace::Writer& writer) const;

    std::uint32_t stream_;
    QueueDevice& device_;
    std::mutex mutex_;
    std::deque<PendingCommand> pending_;
};

}  // namespace isthmus::tracer
