// Empties the processor's caches of a range of memory.
#include "base/cache.hpp"

#include <unistd.h>

#include <cstdint>

#include "base/slices.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace isthmus {
namespace {

#if defined(__x86_64__)

__attribute__((target("clflushopt"))) void evict_lines(const std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += cache_line) {
        _mm_clflushopt(const_cast<std::byte*>(data + at));  // the intrinsic's type lacks const; it writes nothing
    }
    if (bytes > 0) _mm_clflushopt(const_cast<std::byte*>(data + bytes - 1));
    _mm_sfence();
}

// Asked of the processor itself, as clang's __builtin_cpu_supports does not know the name.
bool can_evict() {
    static const bool can = [] {
        constexpr unsigned features_leaf = 7;
        constexpr unsigned clflushopt_bit = 1U << 23;
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        return __get_cpuid_count(features_leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & clflushopt_bit) != 0;
    }();
    return can;
}

#elif defined(__aarch64__)

void evict_lines(const std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += cache_line) asm volatile("dc civac, %0" ::"r"(data + at) : "memory");
    if (bytes > 0) asm volatile("dc civac, %0" ::"r"(data + bytes - 1) : "memory");
    asm volatile("dsb ish" ::: "memory");
}

bool can_evict() {
    return true;
}

#else

void evict_lines(const std::byte*, std::size_t) {}
bool can_evict() {
    return false;
}

#endif

}  // namespace

void evict_from_caches(const std::byte* data, std::size_t bytes) {
    if (!can_evict()) return;
    for_each_slice(bytes, [data](std::size_t begin, std::size_t end) { evict_lines(data + begin, end - begin); });
}

std::size_t last_level_cache_bytes() {
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : SIZE_MAX / 4;
}

}  // namespace isthmus
