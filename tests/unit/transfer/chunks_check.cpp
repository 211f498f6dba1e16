// How a transfer is cut: chunks are complete, within the ring, made of whole parts.
#include "transfer/pieces/chunks.hpp"
#include "transfer/pieces/ring_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using isthmus::Chunks;
using isthmus::HeldPlan;
using isthmus::LanePlan;
using isthmus::Ring;

constexpr std::size_t most_chunk_bytes = std::size_t{4} << 20;

void expect(bool condition, const char* what, std::size_t bytes, std::size_t threads) {
    if (condition) return;
    std::printf("%s: not so for %zu bytes on %zu threads\n", what, bytes, threads);
    std::exit(1);
}

void check(std::size_t bytes, std::size_t threads, std::size_t most_part) {
    const Ring ring{true, std::size_t{32} << 20};
    const Chunks chunks = Chunks::cut(bytes, threads, ring.chunk_bytes(bytes, 0), most_part);
    expect(chunks.part_bytes <= most_part, "no part is too large", bytes, threads);
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

void check_ring(std::size_t budget, bool to_device) {
    const auto lane = LanePlan::of(budget, to_device);
    if (!lane) return expect(budget < (std::size_t{2} << 20), "two mebibytes have room for a ring", budget, 0);
    const Ring& ring = lane->ring;
    expect(ring.bytes + lane->pieces * 16 <= budget / 2, "a lane has its share of the budget", budget, 0);
    for (std::size_t wanted = 4096; wanted <= std::size_t{1} << 30; wanted *= 2) {
        const std::size_t chunk = ring.chunk_bytes(wanted, wanted);
        expect(chunk <= wanted, "no chunk is larger than wanted", budget, wanted);
        expect(ring.slots(chunk) >= Ring::least_slots, "some chunks are under way at once", budget, wanted);
        expect(ring.slots(chunk) * chunk <= ring.bytes, "slots lie within the ring", budget, wanted);
        // A session page-locks what its table has a use for: its chunks are the same, and as many are under way.
        const auto used = LanePlan::of(budget, to_device, {wanted, 0});
        expect(used && used->ring.bytes <= ring.bytes, "a use needs no more than all", budget, wanted);
        expect(used->ring.chunk_bytes(wanted, wanted) == chunk, "a smaller ring cuts alike", budget, wanted);
        expect(used->ring.slots(chunk) == ring.slots(chunk), "and has as many slots", budget, wanted);
    }
}

void check_held(std::size_t bytes, std::size_t buffers, std::size_t pool) {
    const HeldPlan plan({bytes, buffers, bytes / buffers, 0}, pool);
    expect(plan.least_ring_bytes() <= plan.most_ring_bytes(), "it gets what it needs", bytes, buffers);
    expect(plan.least_ring_bytes() <= std::max<std::size_t>(pool / 2, 4096), "two fit the pool", bytes, buffers);
    for (std::size_t ring = plan.least_ring_bytes(); ring <= plan.most_ring_bytes(); ring += 4096) {
        const std::size_t chunk = plan.chunk_bytes(ring);
        expect(chunk != 0 && chunk % 4096 == 0, "chunks are whole pages", bytes, ring);
        expect(chunk <= ring, "a chunk fits the ring", bytes, ring);
        expect(ring / chunk <= Ring::most_slots, "no more slots than a ring has", bytes, ring);
    }
}

}  // namespace

int main() {
    for (const bool to_device : {true, false}) {
        for (std::size_t budget = 0; budget <= std::size_t{1} << 34; budget = 3 * budget / 2 + 4095) {
            check_ring(budget, to_device);
        }
    }
    for (const std::size_t pool : {std::size_t{64} << 10, std::size_t{4} << 20, std::size_t{32} << 20}) {
        for (const std::size_t bytes : {1, 4097, 100000, 1 << 20, (1 << 24) + 13, 1 << 30}) {
            for (const std::size_t buffers : {1, 3, 200}) {
                if (bytes >= buffers) check_held(bytes, buffers, pool);
            }
        }
    }
    for (const std::size_t threads : {1, 2, 3, 8, 16, 4096}) {
        for (const std::size_t most_part : {Chunks::most_part_bytes, Chunks::most_file_part_bytes}) {
            for (const std::size_t bytes : {1, 4095, 65536, 65537, 1 << 20, (1 << 24) + 13, 1 << 28}) {
                check(bytes, threads, most_part);
            }
            check(std::size_t{1} << 33, threads, most_part);
        }
    }
    std::puts("as described");
}
