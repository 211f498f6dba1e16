// What arrives is what was copied, wherever it begins and ends and by stores of any width, and nothing beside it
// changes. The source itself is included, for processors have only one of its ways.
#include "base/cache_copies.cpp"  // NOLINT(bugprone-suspicious-include)

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t margin = 128;
constexpr std::byte guard{0x5a};

template <typename Copy>
void check(const char* way, std::size_t to, std::size_t from, std::size_t bytes, Copy copy) {
    std::vector<std::byte> source(from + bytes + margin);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
    std::vector<std::byte> memory(margin + to + bytes + 2 * margin, guard);
    const std::size_t line = (margin - reinterpret_cast<std::uintptr_t>(memory.data()) % margin) % margin;
    std::byte* const destination = memory.data() + line + to;
    copy(destination, source.data() + from, bytes);
    isthmus::end_streaming();
    for (std::size_t i = 0; i < memory.size(); ++i) {
        const std::size_t at = i - line - to;  // modulo 2^64
        if (memory[i] == (at < bytes ? source[from + at] : guard)) continue;
        std::printf("%s: byte %zu is wrong with %zu bytes to %zu from %zu\n", way, at, bytes, to, from);
        std::exit(1);
    }
}

}  // namespace

int main() {
    constexpr std::array<std::size_t, 12> sizes{0, 1, 63, 64, 65, 127, 2047, 2048, 2049, 4096, 4160, 65536 + 100};
    for (const std::size_t bytes : sizes) {
        for (std::size_t to = 0; to < 66; to += to < 2 ? 1 : 21) {
            for (const std::size_t from : {0, 1, 8, 33}) check("all", to, from, bytes, isthmus::copy_streaming);
        }
#if defined(__x86_64__)
        const std::size_t lines = bytes / isthmus::cache_line * isthmus::cache_line;
        check("16 bytes a store", 0, 3, lines, isthmus::copy_lines_of_16);
        if (!__builtin_cpu_supports("avx512f")) continue;
        check("64 bytes a store", 0, 3, lines, isthmus::copy_lines_of_64);
        // Where nothing can be demoted the instruction does nothing.
        for (const std::size_t to : {0, 1, 8, 33}) check("demoted", to, 3, bytes, isthmus::copy_demoting);
#endif
    }
    std::puts("as described");
}
