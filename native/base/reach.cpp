// What many numbers have in common.
#include "base/reach.hpp"

#include <algorithm>

namespace isthmus {
namespace {

// Without a branch, so that compilers make as many at once of it as there is room for in a register.
[[gnu::always_inline]] inline Reach reach(std::span<const std::uint64_t> numbers) {
    const std::uint64_t first = numbers.front();
    Reach found{first, first, 0};
    for (const std::uint64_t number : numbers) {
        found.lowest = std::min(found.lowest, number);
        found.highest = std::max(found.highest, number);
        found.differing_bits |= number ^ first;
    }
    return found;
}

Reach plain(std::span<const std::uint64_t> numbers) {
    return reach(numbers);
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] Reach wide(std::span<const std::uint64_t> numbers) {
    return reach(numbers);
}
const bool is_wide = __builtin_cpu_supports("avx512f") != 0;
#endif

}  // namespace

Reach reach_of(std::span<const std::uint64_t> numbers) {
#if defined(__x86_64__)
    if (is_wide) return wide(numbers);
#endif
    return plain(numbers);
}

}  // namespace isthmus
