// Copies that hand what they have written to the cache that all cores share, for what a device reads soon.
#include "base/demoting_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/cache.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace isthmus {

#if defined(__x86_64__)
namespace {

// So far behind the stores: a line that is still being written is not handed on.
constexpr std::size_t behind_bytes = 8 * cache_line;

[[gnu::target("avx512f")]] inline void store_line(std::byte* to, const std::byte* from) {
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
}

bool has_cldemote() {
    constexpr unsigned bit = 1U << 25;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & bit) != 0 && __builtin_cpu_supports("avx512f") != 0;
}

}  // namespace

bool can_demote() {
    static const bool can = has_cldemote();
    return can;
}

[[gnu::target("cldemote")]] void demote(std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += cache_line) _cldemote(data + at);
}

// Both halves at once: a core follows two streams of loads faster than one.
[[gnu::target("avx512f,cldemote")]] void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t half = bytes / 2 / cache_line * cache_line;
    for (std::size_t at = 0; at < half; at += cache_line) {
        store_line(to + at, from + at);
        store_line(to + half + at, from + half + at);
        if (at < behind_bytes) continue;
        _cldemote(to + at - behind_bytes);
        _cldemote(to + half + at - behind_bytes);
    }
    std::memcpy(to + 2 * half, from + 2 * half, bytes - 2 * half);
    const std::size_t left = std::min(half, behind_bytes);
    demote(to + half - left, left);
    demote(to + 2 * half - left, bytes - 2 * half + left);
}
#else
bool can_demote() {
    return false;
}
void demote(std::byte*, std::size_t) {}
void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}
#endif

}  // namespace isthmus
