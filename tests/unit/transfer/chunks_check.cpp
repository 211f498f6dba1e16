// What the chunks of a transfer are: complete, within bounds, made of whole parts.
#include "transfer/pieces/chunks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using isthmus::Chunks;

constexpr std::size_t most_chunk_bytes = std::size_t{4} << 20;

void expect(bool condition, const char* what, std::size_t bytes, std::size_t threads) {
    if (condition) return;
    std::printf("%s: not so for %zu bytes on %zu threads\n", what, bytes, threads);
    std::exit(1);
}

void check(std::size_t bytes, std::size_t threads) {
    const Chunks chunks = Chunks::cut(bytes, threads);
    expect(chunks.chunk_bytes <= most_chunk_bytes, "no chunk is too large", bytes, threads);
    expect(chunks.chunk_bytes % chunks.part_bytes == 0, "a chunk is whole parts", bytes, threads);
    expect(chunks.part_bytes % 4096 == 0, "each part begins at a page", bytes, threads);
    std::size_t at = 0;
    std::size_t part = 0;
    for (std::size_t i = 0; i < chunks.count(); ++i) {
        const auto [begin, end] = chunks.chunk(i);
        expect(begin == at && end > begin, "each chunk follows the last", bytes, threads);
        for (std::size_t k = 0; k < chunks.parts_of(i); ++k, ++part) {
            expect(chunks.chunk_of(part) == i, "each part knows its chunk", bytes, threads);
            expect(chunks.part(part).begin == at, "each part follows the last", bytes, threads);
            at = chunks.part(part).end;
        }
        expect(at == end, "the parts are all of the chunk", bytes, threads);
    }
    expect(at == bytes, "all of it is covered", bytes, threads);
    expect(part == chunks.parts(), "no part is left", bytes, threads);
    if (bytes >= 64 * threads * 4096) expect(part >= threads, "each thread has a part", bytes, threads);
    if (bytes >= 64 * most_chunk_bytes) {
        expect(chunks.chunk_bytes == most_chunk_bytes, "a large transfer goes in large chunks", bytes, threads);
    }
}

}  // namespace

int main() {
    for (const std::size_t threads : {1, 2, 3, 8, 16, 4096}) {
        for (const std::size_t bytes : {1, 4095, 65536, 65537, 1 << 20, (1 << 24) + 13, 1 << 28}) {
            check(bytes, threads);
        }
        check(std::size_t{1} << 33, threads);
    }
    std::puts("as described");
}
