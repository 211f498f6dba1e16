// Memory of one kind, and parts of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/memory_kind.hpp"
#include "base/names.hpp"
#include "base/status.hpp"

namespace isthmus {

// Width and height of 2-D memory, and the bytes from one row to the next.
struct Shape {
    std::size_t width_bytes = 0, rows = 0, pitch_bytes = 0;
};

// For so many bytes of one float an element, about as wide as high, in rows of a power of two; without a pitch.
Shape square_shape(std::size_t bytes);

// Memory of one kind, or the place for it. It keeps its device alive; freeing waits for nothing, so the caller
// synchronises first. acquire and release are what allocation is timed on: they hold the calls that a program makes,
// and no bookkeeping. Destructors release.
class Allocation {
  public:
    virtual ~Allocation() = default;
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    MemoryKind kind() const { return kind_; }
    std::size_t bytes() const { return bytes_; }
    // The host's address, at least 4096-aligned but for malloc; null for memory that the host cannot address or that is
    // not held. Reading or writing through it is allowed between begin_host_access and end_host_access only.
    std::byte* host() const { return host_; }
    // What the caller's own calls name it by, and Device::borrow takes: the address, or of OpenCL's buffers the cl_mem;
    // 0 while it is not held.
    virtual std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(host_); }
    // What kernels find it at, which tells how it is aligned; 0 where it has no address, as OpenCL's buffers, which are
    // aligned for every type.
    virtual std::uintptr_t kernel_address() const { return reinterpret_cast<std::uintptr_t>(host_); }
    // Bytes of 2-D memory that is held.
    virtual Shape shape() const { return {}; }

    // Does what must have happened before memory is allocated and is no part of getting it: pages to be locked are
    // there and touched, what was released to a pool has arrived. Not while it is held.
    virtual Status prepare() { return {}; }
    // Precondition: not held, prepared since it was last released. Pages are touched only where the kind says so. Fails
    // with out_of_memory or unsupported; after either, everything else still works, and nothing is held.
    virtual Status acquire() = 0;
    // Precondition: held. Nothing is held afterwards, whatever the driver says.
    virtual Status release() = 0;

  protected:
    Allocation(MemoryKind kind, std::size_t bytes) : kind_(kind), bytes_(bytes) {}
    void set_host(std::byte* host) { host_ = host; }

  private:
    MemoryKind kind_;
    std::size_t bytes_;
    std::byte* host_ = nullptr;
};

// A part of an allocation; a view that owns nothing.
struct Region {
    Allocation* allocation = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;

    std::byte* host() const { return allocation->host() + offset; }
};

ISTHMUS_ENUM(Side, host, device)

// What the driver is told about managed memory.
ISTHMUS_ENUM(Advice,
             read_mostly,         // copies may be on both sides until a side writes
             prefer_device,       // its preferred location is the device
             accessed_by_device)  // mapped for the device wherever it is

}  // namespace isthmus
