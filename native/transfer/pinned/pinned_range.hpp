// Memory of callers that is page-locked where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"

namespace isthmus {

class Device;

// Memory stays page-locked until the last of those that share it is destroyed, which no copy of it may outlast. In the
// child of a fork that does nothing. Keeps the device alive, and not the memory.
class PinnedRange {
  public:
    // Page-locks [address, address + bytes) for all devices of the kind, in one registration: drivers refuse a copy
    // that reaches from one into another. What is page-locked already stays as it is: where this library did it, it is
    // shared, and where somebody else did it, it is theirs to undo. Fails with invalid_argument where only a part is
    // page-locked, or memory is no ordinary memory of the host; with unsupported where the device page-locks no memory
    // of callers; with out_of_memory beyond a limit. Nothing has changed then. Precondition: bytes is not 0, and the
    // device is current for the thread.
    static Result<PinnedRange> lock(const std::shared_ptr<Device>& device, std::uintptr_t address, std::size_t bytes);

    PinnedRange(PinnedRange&& other) noexcept : locked_(std::exchange(other.locked_, nullptr)) {}
    PinnedRange& operator=(PinnedRange&&) = delete;
    ~PinnedRange();

    struct Locked;

  private:
    explicit PinnedRange(Locked* locked) : locked_(locked) {}
    Locked* locked_;  // of all that this library has locked; null for what is somebody else's
};

}  // namespace isthmus
