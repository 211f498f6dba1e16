// The host's part of a copy through a ring: which part is where, and who moves it.
#include "transfer/pieces/ring_packer.hpp"

#include <algorithm>
#include <iterator>

namespace isthmus {

Part RingPacker::staged(const PackedRun& run, std::size_t chunk, Chunks::Range range) const {
    const std::size_t slot = (slots_.first + run.first_chunk + chunk) % slots_.count;
    const std::size_t within = range.begin - run.chunks.chunk(chunk).begin;
    return {range.begin, range.end, slots_.begins_at + slot * slots_.slot_bytes + within};
}

void RingPacker::expect(const PackedRun& run, std::size_t chunk) {
    counts_[(run.first_chunk + chunk) % counts_.size()].left = run.chunks.parts_of(chunk);
}

RingPacker::Taken RingPacker::at(std::size_t part) const {
    const PackedRun* run = runs_.data();
    if (runs_.size() > 1) {
        const auto after =
            std::upper_bound(runs_.begin(), runs_.end(), part,
                             [](std::size_t wanted, const PackedRun& each) { return wanted < each.first_part; });
        run = &*std::prev(after);
    }
    const std::size_t own = part - run->first_part;
    return {run, own, run->first_chunk + run->chunks.chunk_of(own)};
}

std::optional<RingPacker::Taken> RingPacker::take() {
    const std::size_t part = next_part_++;
    if (part >= parts_) return std::nullopt;
    return at(part);
}

Result<RingPacker::Moved> RingPacker::move_one(std::size_t open_chunks, std::size_t end) {
    std::size_t next = next_part_;
    if (next >= std::min(end, parts_)) return Moved::nothing;
    const Taken taken = at(next);
    if (taken.chunk >= open_chunks) return Moved::nothing;
    const bool is_mine = next_part_.compare_exchange_strong(next, next + 1);
    if (!is_mine) return Moved::part;
    ISTHMUS_TRY_ASSIGN(was_last, move(taken));
    return was_last ? Moved::chunk : Moved::part;
}

Result<bool> RingPacker::move(const Taken& taken) {
    const PackedRun& run = *taken.run;
    const Part part = staged(run, taken.chunk - run.first_chunk, run.chunks.part(taken.part));
    ISTHMUS_TRY(run.pieces->move_on_host(part, *slots_.memory, stores_));
    return counts_[taken.chunk % counts_.size()].left.fetch_sub(1) == 1;
}

}  // namespace isthmus
