// Random numbers that are the same on every machine and in every run, and contents that are made of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>

class Dice {
  public:
    // Mixed once more: neighbours would have the same numbers, one step apart.
    explicit Dice(std::uint64_t seed) : state_(mixed(seed * 0xD1B54A32D192ED03U + 1)) {}

    // splitmix64
    std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15U); }
    std::size_t below(std::size_t end) { return next() % end; }
    std::size_t between(std::size_t least, std::size_t most) { return least + below(most - least + 1); }
    bool one_in(std::size_t count) { return below(count) == 0; }
    template <typename Value>
    Value pick(std::initializer_list<Value> values) {
        return *std::next(values.begin(), static_cast<std::ptrdiff_t>(below(values.size())));
    }
    // Each power of two as often as others.
    std::size_t scaled(std::size_t least, std::size_t most) {
        const auto power = [](std::size_t number) { return 63 - static_cast<unsigned>(__builtin_clzll(number)); };
        const std::size_t scale = std::size_t{1} << between(power(least), power(most));
        return std::clamp(scale + below(scale), least, most);
    }

  private:
    static std::uint64_t mixed(std::uint64_t word) {
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
        return word ^ (word >> 31);
    }
    std::uint64_t state_;
};

inline void fill_bytes(void* to, std::size_t bytes, std::uint64_t seed) {
    auto* const begin = static_cast<unsigned char*>(to);
    std::uint64_t word = seed * 0x9E3779B97F4A7C15U + 1;
    std::size_t i = 0;
    for (; i < bytes; i += sizeof word) {
        word = word * 6364136223846793005U + 1442695040888963407U;
        const std::uint64_t mixed = word ^ (word >> 29);
        std::memcpy(begin + i, &mixed, std::min(sizeof mixed, bytes - i));
    }
}

inline std::uint64_t hash_bytes(const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const unsigned char*>(from);
    // Four sums, so that one need not wait for the other.
    std::uint64_t sums[4] = {1, 2, 3, 4};
    std::size_t i = 0;
    for (; i + 32 <= bytes; i += 32) {
        std::uint64_t words[4];
        std::memcpy(words, begin + i, sizeof words);
        for (int k = 0; k < 4; ++k) sums[k] = (sums[k] ^ words[k]) * 0x9FB21C651E98DF25U + (sums[k] >> 47);
    }
    for (; i < bytes; ++i) sums[0] = (sums[0] ^ begin[i]) * 0x100000001B3U;
    std::uint64_t hash = bytes;
    for (const std::uint64_t sum : sums) hash = (hash ^ (hash >> 31) ^ sum) * 0xBF58476D1CE4E5B9U;
    return hash;
}
