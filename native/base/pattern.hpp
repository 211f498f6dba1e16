// The incompressible pattern that buffers are filled with and checked against; native/kernels computes the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace isthmus {

// What a copy should overwrite: where it brings nothing, a check finds this.
inline constexpr std::uint8_t poison_byte = 0xA5;

// Word `index` of the pattern. This is element `index` of the splitmix64 sequence that starts at `seed` (Steele, Lea,
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). A generator whose n-th value needs no n-1
// values before it lets any thread, on either side, start anywhere; and its output passes for random, so no link,
// memory controller or file system on the path can compress it or merge equal pages.
constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// What a check found.
struct Mismatch {
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t words = 0;          // how many 64-bit words differ; a partial last word counts as one
    std::uint64_t first_word = none;  // pattern index of the first that differs: counts from word 0 of the pattern, not
                                      // from the start of the part that was checked

    explicit constexpr operator bool() const { return words != 0; }
    friend constexpr bool operator==(const Mismatch&, const Mismatch&) = default;

    // Joins the findings of two parts of one buffer, in any order.
    friend constexpr Mismatch operator+(Mismatch a, Mismatch b) {
        return {a.words + b.words, a.first_word < b.first_word ? a.first_word : b.first_word};
    }
};

// Both work on one thread and on memory of any alignment and size. Byte j of the region is byte j % 8, in
// little-endian order, of pattern word first_word + j / 8. To split a buffer over threads, cut it at multiples of 8
// bytes and give each part its own first_word; parts should be at least a few pages.
void fill_pattern(std::byte* region, std::size_t bytes, std::uint64_t seed, std::uint64_t first_word = 0);

[[nodiscard]] Mismatch verify_pattern(const std::byte* region, std::size_t bytes, std::uint64_t seed,
                                      std::uint64_t first_word = 0);

}  // namespace isthmus
