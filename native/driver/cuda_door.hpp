// The door into the CUDA driver: no call that a thread makes inside can disturb a graph that is being captured.
#pragma once

#include "driver/cuda_api.hpp"

namespace isthmus::cuda {

// While a program captures a graph, on any thread, the driver refuses calls that might have been meant for it (memory,
// events, waiting), and the capture is lost. None of ours is meant for it: inside, the thread is in the relaxed mode.
// Doors nest, and the outermost one alone exchanges the mode, which is the thread's.
//
// The relaxed mode does not save what names a captured stream or event itself, nor the legacy stream while a stream
// that waits for it is captured: those are asked about first (cuStreamIsCapturing).
class Door {
  public:
    explicit Door(const Api& api) noexcept : api_(api) { enter(api_); }
    ~Door() { leave(api_); }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;
    // For those that are entered and left by two functions.
    static void enter(const Api& api) noexcept;
    static void leave(const Api& api) noexcept;

  private:
    const Api& api_;
};

}  // namespace isthmus::cuda
