// What many numbers have in common, in one pass that is as wide as the processor.
#pragma once

#include <cstdint>
#include <span>

namespace isthmus {

// The bounds of at least one number.
struct Reach {
    std::uint64_t lowest = 0, highest = 0;
    std::uint64_t differing_bits = 0;  // that are not the same in all of them
};
Reach reach_of(std::span<const std::uint64_t> numbers);
Reach reach_of(std::span<const void* const> addresses);

}  // namespace isthmus
