// Bytes of an open file, as the source of a copy: threads read them in place of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/region.hpp"
#include "transfer/pieces/pack.hpp"

namespace isthmus {

// A part of a file that somebody else has open, and keeps open.
struct FileRange {
    int descriptor = -1;
    std::uint64_t offset_bytes = 0;
};

// Has no host address: nothing of the file is mapped, so one that is cut off while it is read is a failure and no
// signal. Any number of threads may read at once.
class FileBytes final : public Allocation {
  public:
    FileBytes(const FileRange& range, std::size_t bytes) : Allocation(MemoryKind::pageable, bytes), range_(range) {}

    // So many bytes from `begin` on, counted from the beginning of the range, to memory of the host; past the caches
    // unless stores are ordinary. Fails with call_failed where the system cannot read, and where the file ends.
    Status read(std::byte* to, std::size_t begin, std::size_t bytes, Stores stores) const;

    Status acquire() override { return {}; }
    Status release() override { return {}; }

  private:
    Status read(std::byte* to, std::size_t begin, std::size_t bytes) const;
    // Where the file ends now, which is known to be at this byte or before.
    std::uint64_t end_within(std::uint64_t most) const;

    const FileRange range_;
};

}  // namespace isthmus
