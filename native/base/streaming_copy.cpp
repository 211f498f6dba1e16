// Copies past the caches, with the widest stores that the processor has.
#include "base/streaming_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/cache.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace isthmus {

#if defined(__x86_64__)
namespace {

// Both halves at once from here on: a core follows two streams of loads faster than one. On an H200's host eight
// threads copy what no cache holds at 50 GB/s so, at 48 with one stream, and at 38 with one and 16 bytes a store.
constexpr std::size_t least_halved_bytes = 2048;

std::size_t half_of(std::size_t bytes) {
    return bytes < least_halved_bytes ? 0 : bytes / 2 / cache_line * cache_line;
}

// Whole lines, to where a line begins.
using CopyLines = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

[[gnu::target("avx512f")]] inline void copy_line_at_once(std::byte* to, const std::byte* from) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}

[[gnu::target("avx512f")]] void copy_lines_of_64(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t half = half_of(bytes);
    for (std::size_t at = 0; at < half; at += cache_line) {
        copy_line_at_once(to + at, from + at);
        copy_line_at_once(to + half + at, from + half + at);
    }
    for (std::size_t at = 2 * half; at < bytes; at += cache_line) copy_line_at_once(to + at, from + at);
}

void copy_line(std::byte* to, const std::byte* from) {
    for (std::size_t at = 0; at < cache_line; at += sizeof(__m128i)) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
}

void copy_lines_of_16(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t half = half_of(bytes);
    for (std::size_t at = 0; at < half; at += cache_line) {
        copy_line(to + at, from + at);
        copy_line(to + half + at, from + half + at);
    }
    for (std::size_t at = 2 * half; at < bytes; at += cache_line) copy_line(to + at, from + at);
}

CopyLines fastest() {
    return __builtin_cpu_supports("avx512f") != 0 ? copy_lines_of_64 : copy_lines_of_16;
}

}  // namespace

void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
    // What does not fill a line is not worth it.
    const std::size_t head =
        std::min(bytes, (cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line) % cache_line);
    std::memcpy(to, from, head);
    const std::size_t lines = (bytes - head) / cache_line * cache_line;
    static const CopyLines copy_lines = fastest();
    copy_lines(to + head, from + head, lines);
    std::memcpy(to + head + lines, from + head + lines, bytes - head - lines);
}

void end_streaming() {
    _mm_sfence();
}
#else
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}
void end_streaming() {}
#endif

}  // namespace isthmus
