// The graphs that the program is capturing.
#pragma once

#include <atomic>

namespace isthmus::accelerator {

// Counted by the program's own calls that begin and end captures. One that ends otherwise, with its stream or its
// context, is counted for good: copies are then the driver's, as without this library.
class Captures {
  public:
    static void begin() noexcept { ++under_way; }
    static void end() noexcept { --under_way; }
    static bool any() noexcept { return under_way != 0; }

  private:
    static inline std::atomic<long> under_way = 0;
};

}  // namespace isthmus::accelerator
