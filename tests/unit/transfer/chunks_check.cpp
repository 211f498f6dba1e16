// What the chunks of a transfer are: complete, within bounds, small first and last.
#include "transfer/chunks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using isthmus::least_chunk_bytes;
using isthmus::most_chunk_bytes;

void expect(bool condition, const char* what, std::size_t bytes, std::size_t threads) {
    if (condition) return;
    std::printf("%s: not so for %zu bytes on %zu threads\n", what, bytes, threads);
    std::exit(1);
}

void check(std::size_t bytes, std::size_t threads) {
    const auto ends = isthmus::chunk_ends(bytes, threads);
    std::size_t begin = 0;
    std::size_t largest = 0;
    for (const std::size_t end : ends) {
        const std::size_t chunk = end - begin;
        expect(chunk > 0 && chunk <= most_chunk_bytes, "no chunk is empty or too large", bytes, threads);
        expect(end == bytes || chunk >= least_chunk_bytes, "none but the last is too small", bytes, threads);
        expect(begin % isthmus::chunk_multiple == 0, "each begins at a multiple", bytes, threads);
        largest = std::max(largest, chunk);
        begin = end;
    }
    expect(begin == bytes, "all of it is covered", bytes, threads);
    if (bytes == 0) return;
    for (std::size_t i = 0; i < std::min(threads, ends.size()); ++i) {
        expect(ends[i] == std::min(bytes, (i + 1) * least_chunk_bytes), "each thread's first is small", bytes, threads);
    }
    const std::size_t last = ends.size() > 1 ? bytes - ends[ends.size() - 2] : bytes;
    expect(last <= least_chunk_bytes + isthmus::chunk_multiple, "the last is small", bytes, threads);
    if (bytes >= 64 * threads * most_chunk_bytes) {
        expect(largest == most_chunk_bytes, "most of a large transfer goes in large chunks", bytes, threads);
    }
}

}  // namespace

int main() {
    for (const std::size_t threads : {1, 2, 3, 8, 16}) {
        for (const std::size_t bytes : {0, 1, 4095, 65536, 65537, 1 << 20, (1 << 24) + 13, 1 << 28}) {
            check(bytes, threads);
        }
        check(std::size_t{1} << 33, threads);
    }
    std::puts("as described");
}
