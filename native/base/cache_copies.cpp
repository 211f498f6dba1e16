// Copies past the caches, with the widest stores that the processor has, and into the cache that all cores share.
#include "base/cache_copies.hpp"

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

bool can_demote() {
    static const bool can = has_cldemote();
    return can;
}

[[gnu::target("cldemote")]] void demote(std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += cache_line) _cldemote(data + at);
}

// Both halves at once here, too.
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
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}
void end_streaming() {}
bool can_demote() {
    return false;
}
void demote(std::byte*, std::size_t) {}
void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}
#endif

}  // namespace isthmus
