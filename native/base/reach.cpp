// What many numbers have in common.
#include "base/reach.hpp"

#include <algorithm>

namespace isthmus {
namespace {

std::uint64_t value(std::uint64_t number) {
    return number;
}
std::uint64_t value(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

// Without a branch, so that compilers make as many at once of it as there is room for in a register.
template <typename Number>
[[gnu::always_inline]] inline Reach reach(std::span<const Number> numbers) {
    const std::uint64_t first = value(numbers.front());
    Reach reach{first, first, 0};
    for (const Number number : numbers) {
        reach.lowest = std::min(reach.lowest, value(number));
        reach.highest = std::max(reach.highest, value(number));
        reach.differing_bits |= value(number) ^ first;
    }
    return reach;
}

#if defined(__x86_64__)
template <typename Number>
[[gnu::target("avx512f")]] Reach wide(std::span<const Number> numbers) {
    return reach(numbers);
}
const bool is_wide = __builtin_cpu_supports("avx512f") != 0;
#endif

template <typename Number>
Reach fastest(std::span<const Number> numbers) {
#if defined(__x86_64__)
    if (is_wide) return wide(numbers);
#endif
    return reach(numbers);
}

}  // namespace

Reach reach_of(std::span<const std::uint64_t> numbers) {
    return fastest(numbers);
}

Reach reach_of(std::span<const void* const> addresses) {
    return fastest(addresses);
}

}  // namespace isthmus
