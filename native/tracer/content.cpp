// A hash of what a copy moves.
#include "tracer/content.hpp"

#include <array>
#include <cstring>

namespace isthmus::tracer {
namespace {

// Several at a time, so that a hash is as fast as memory: each waits for its own multiplication before it alone.
constexpr std::size_t lanes = 8;
constexpr std::uint64_t prime = 0x9E3779B97F4A7C15ULL;

std::uint64_t stirred(std::uint64_t value) {
    value = (value ^ (value >> 32U)) * prime;
    return value ^ (value >> 29U);
}

}  // namespace

std::uint64_t content_hash(const void* memory, std::size_t bytes) {
    const auto* next = static_cast<const std::byte*>(memory);
    std::array<std::uint64_t, lanes> state{};
    for (std::size_t lane = 0; lane < lanes; ++lane) state[lane] = stirred(lane + 1);
    constexpr std::size_t step = lanes * sizeof(std::uint64_t);
    std::size_t left = bytes;
    for (; left >= step; left -= step, next += step) {
        std::array<std::uint64_t, lanes> words;
        std::memcpy(words.data(), next, step);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const std::uint64_t mixed = (state[lane] ^ words[lane]) * prime;
            state[lane] = mixed ^ (mixed >> 31U);
        }
    }
    std::array<std::uint64_t, lanes> rest{};
    if (left != 0) std::memcpy(rest.data(), next, left);
    std::uint64_t hash = stirred(bytes + prime);
    for (std::size_t lane = 0; lane < lanes; ++lane) hash = stirred(hash ^ stirred(state[lane] ^ rest[lane]) ^ lane);
    return hash == 0 ? 1 : hash;
}

}  // namespace isthmus::tracer
