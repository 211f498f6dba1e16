// What a program holds of OpenCL, as its calls got and gave it back: contexts, with the library's sessions in them, and
// memory of the host's that OpenCL gave it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "accelerator/options.hpp"
#include "base/fork.hpp"
#include "driver/opencl_api.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::accelerator {

// In the child of a fork nothing is held: OpenCL does not work there.
class ClHoldings {
  public:
    // Never destroyed: the program may call to the end.
    static ClHoldings& of_process();

    // The program holds a context once more: it made it, or retained it.
    void hold(opencl::Context context);
    // Once less. With the last of them the library's session there ends, and all that it has in the context; what
    // the program still has there, it copies by the driver.
    void let_go(opencl::Context context);
    // That of a context's device, which is opened when it is first asked for. Null where the program does not hold the
    // context. Fails where none can be opened, from then on each time.
    Result<std::shared_ptr<Session>> session(opencl::Context context, opencl::Device device, const Options& options);

    // Mapped buffers, and shared virtual memory.
    void add(const void* memory, std::size_t bytes);
    void remove(const void* memory);
    // Whether any of these bytes is of such memory.
    bool touches(std::uintptr_t begin, std::size_t bytes) const;

  private:
    struct Place {
        std::shared_ptr<Session> session;
        Status failure;
    };
    struct Held {
        std::size_t times = 0;
        std::map<opencl::Device, Place> places;
    };
    bool is_here() const { return generation_ == fork_generation(); }

    const unsigned generation_ = fork_generation();
    mutable std::mutex mutex_;  // guards what follows
    std::map<opencl::Context, Held> contexts_;
    std::multimap<std::uintptr_t, std::size_t> memory_;
    bool lacks_some_ = false;  // so that it may be any
};

}  // namespace isthmus::accelerator
