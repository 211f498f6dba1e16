// What is recorded of the OpenCL of the process that this library lives in.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "interpose/foreign_process.hpp"
#include "tracer/opencl/memory_map.hpp"
#include "tracer/opencl/queue.hpp"
#include "tracer/part.hpp"
#include "tracer/thread_state.hpp"

namespace isthmus::tracer {

class CommandRecorder {
  public:
    // Begins to record at the process's first call. Null where it is not traced.
    static CommandRecorder* current() noexcept;

    // Writes what is complete, and closes the file.
    void finish();

    trace::TraceFile& file() const { return part_.file(); }
    CallSites& sites() const { return part_.sites(); }
    MemoryMap& memory() { return memory_; }
    bool contents() const { return contents_; }
    std::uint32_t next_correlation() { return ++correlations_; }

    // A queue that was just made, or one that was not seen to be.
    void add_queue(opencl::Queue queue);
    std::shared_ptr<CommandQueue> queue(opencl::Queue queue);
    // When its last reference is given up.
    void remove_queue(opencl::Queue queue);
    // Of all queues, up to their first command that is not complete; or whatever is.
    void collect(bool whole);

  private:
    CommandRecorder(Part part, bool contents) : part_(std::move(part)), contents_(contents) {}
    static bool start();
    QueueDevice& device(opencl::Device device);

    Part part_;
    bool contents_;
    MemoryMap memory_;
    std::atomic<std::uint32_t> correlations_ = 0;
    std::mutex mutex_;
    std::map<opencl::Device, std::unique_ptr<QueueDevice>> devices_;
    std::map<opencl::Queue, std::shared_ptr<CommandQueue>> queues_;
    std::uint32_t next_stream_ = 0;
};

}  // namespace isthmus::tracer
