// Fills host memory with the pattern and checks it, on one thread.
#include "base/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "the pattern is defined as little-endian bytes");

namespace isthmus {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// Half a page: small enough for the first-level cache, large enough that a branch per block costs nothing.
constexpr std::size_t block_words = 256;

std::uint64_t load_word(const std::byte* from, std::size_t bytes = word_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    return word;
}

// Has no branch on the data, so that the compiler can use vectors.
bool block_differs(const std::byte* block, std::uint64_t seed, std::uint64_t first_word) {
    std::uint64_t differences = 0;
    for (std::size_t i = 0; i < block_words; ++i) {
        differences |= load_word(block + i * word_bytes) ^ pattern_word(seed, first_word + i);
    }
    return differences != 0;
}

Mismatch count_mismatches(const std::byte* region, std::size_t words, std::uint64_t seed, std::uint64_t first_word) {
    Mismatch mismatch;
    for (std::size_t i = 0; i < words; ++i) {
        if (load_word(region + i * word_bytes) != pattern_word(seed, first_word + i)) {
            mismatch = mismatch + Mismatch{1, first_word + i};
        }
    }
    return mismatch;
}

}  // namespace

void fill_pattern(std::byte* region, std::size_t bytes, std::uint64_t seed, std::uint64_t first_word) {
    const std::size_t words = bytes / word_bytes;
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t word = pattern_word(seed, first_word + i);
        std::memcpy(region + i * word_bytes, &word, word_bytes);
    }
    if (const std::size_t tail = bytes % word_bytes; tail != 0) {
        const std::uint64_t word = pattern_word(seed, first_word + words);
        std::memcpy(region + words * word_bytes, &word, tail);
    }
}

Mismatch verify_pattern(const std::byte* region, std::size_t bytes, std::uint64_t seed, std::uint64_t first_word) {
    const std::size_t words = bytes / word_bytes;
    Mismatch mismatch;
    for (std::size_t i = 0; i < words; i += block_words) {
        const std::byte* const block = region + i * word_bytes;
        const std::size_t count = std::min(block_words, words - i);
        // Nearly always the block is as it should be, and counting is needed only where it is not.
        if (count < block_words || block_differs(block, seed, first_word + i)) {
            mismatch = mismatch + count_mismatches(block, count, seed, first_word + i);
        }
    }
    if (const std::size_t tail = bytes % word_bytes; tail != 0) {
        const std::uint64_t mask = (std::uint64_t{1} << (8 * tail)) - 1;
        const std::uint64_t expected = pattern_word(seed, first_word + words) & mask;
        if (load_word(region + words * word_bytes, tail) != expected) {
            mismatch = mismatch + Mismatch{1, first_word + words};
        }
    }
    return mismatch;
}

}  // namespace isthmus
