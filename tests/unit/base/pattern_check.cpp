// The pattern against its published values, against its definition byte for byte, and cut into parts.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/pattern.hpp"

namespace {

using isthmus::Mismatch;
using isthmus::pattern_word;

// The first outputs of splitmix64 from state 0, as its reference implementation gives them.
static_assert(pattern_word(0, 0) == 0xE220A8397B1DCDAFu);
static_assert(pattern_word(0, 1) == 0x6E789E6AA1B965F4u);
static_assert(pattern_word(0, 2) == 0x06C45D188009454Fu);

static_assert(Mismatch{2, 7} + Mismatch{} == Mismatch{2, 7});
static_assert(Mismatch{2, 7} + Mismatch{1, 3} == Mismatch{3, 3});
static_assert(!Mismatch{} && Mismatch{1, 0});

constexpr std::uint64_t seed = 99;

void expect(bool condition, const char* claim, std::size_t bytes) {
    if (condition) return;
    std::printf("not so: %s; %zu bytes\n", claim, bytes);
    std::exit(1);
}

void check_bytes(std::size_t bytes) {
    std::vector<std::byte> memory(bytes + 1);
    isthmus::fill_pattern(memory.data() + 1, bytes, seed, 4);  // at an odd address
    for (std::size_t j = 0; j < bytes; ++j) {
        const auto expected = static_cast<std::byte>(pattern_word(seed, 4 + j / 8) >> (8 * (j % 8)));
        expect(memory[1 + j] == expected, "byte j is byte j % 8 of word j / 8", bytes);
    }
}

void check_parts(std::size_t bytes, std::size_t cut) {
    std::vector<std::byte> memory(bytes);
    isthmus::fill_pattern(memory.data(), cut, seed);
    isthmus::fill_pattern(memory.data() + cut, bytes - cut, seed, cut / 8);
    expect(!isthmus::verify_pattern(memory.data(), bytes, seed), "parts make one pattern", bytes);

    memory[bytes - 1] ^= std::byte{4};
    memory[cut - 1] ^= std::byte{4};
    const Mismatch whole = isthmus::verify_pattern(memory.data(), bytes, seed);
    expect(whole == Mismatch{2, (cut - 1) / 8}, "both wrong words are counted and the first is named", bytes);
    const Mismatch parts = isthmus::verify_pattern(memory.data() + cut, bytes - cut, seed, cut / 8) +
                           isthmus::verify_pattern(memory.data(), cut, seed);
    expect(parts == whole, "findings of parts add up to those of the whole", bytes);
}

}  // namespace

int main() {
    for (const std::size_t bytes : {0, 1, 7, 8, 9, 2047, 2048, 2049, 5000}) check_bytes(bytes);
    // Around the 2048 bytes that verify_pattern takes at a time, and with a tail.
    for (const std::size_t bytes : {16, 17, 4096, 4104, 10003}) check_parts(bytes, bytes / 16 * 8);
    std::puts("as defined");
}
