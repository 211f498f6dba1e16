// Lists of offsets that batches have used, for those to come: a megabyte takes the system longer to give than filling
// it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace isthmus {

// May be used by any number of threads at once.
class SpareOffsets {
  public:
    // One with whatever it held before; an empty one where there is none.
    std::vector<std::uint64_t> take();
    // Keeps a few, and none that is very long.
    void give(std::vector<std::uint64_t> list) noexcept;
    void clear();

  private:
    std::mutex mutex_;
    std::array<std::vector<std::uint64_t>, 4> lists_;  // without memory where there is none
};

}  // namespace isthmus
