// The one plan of a session's page-locked memory: shares of the budget, chunks of a ring, and slots.
#include "transfer/pieces/ring_plan.hpp"

#include "base/pages.hpp"

namespace isthmus {
namespace {

constexpr std::size_t kibibyte = std::size_t{1} << 10, mebibyte = std::size_t{1} << 20;

// Handing less than this to the driver takes longer than its own copy of pageable memory.
constexpr std::size_t least_slot_bytes = 80 * kibibyte;
// One part in so many of a lane is for the offsets of scattered pieces, for which one page is the least.
constexpr std::size_t share_of_offsets = 32;
constexpr std::size_t offsets_bytes_a_piece = 2 * sizeof(std::uint64_t);
// Pieces are cut without a table's help: into chunks no larger than this, and no more need be moved at a time.
constexpr std::size_t chunk_bytes_of_pieces = 2 * mebibyte;
constexpr std::size_t pieces_at_a_time = std::size_t{1} << 16;

// Where no table names a chunk: the driver takes about as long for a call as it takes to move the smallest. Nothing
// crosses the link before the first chunk is packed, and nothing is packed while the last one crosses.
constexpr std::size_t least_suitable_bytes = 256 * kibibyte, most_suitable_bytes = 4 * mebibyte;
constexpr std::size_t suitable_chunks = 16;

// Held copies. Small budgets are still to serve some dozens of copies that have begun and cannot go on.
constexpr std::size_t least_pool_bytes = mebibyte;
// No copy gets faster by more, and page-locking takes long.
constexpr std::size_t most_pool_bytes = 32 * mebibyte;
// Each chunk is three commands, and a call that puts more behind a held stream than its queue takes (about a thousand)
// waits for the caller that lets the stream go on, who may be its own caller: so one copy has few chunks, and where
// little of the pool is left they do not shrink below the least.
constexpr std::size_t most_held_chunks = 256, wanted_held_slots = 4;
constexpr std::size_t least_held_chunk_bytes = 64 * kibibyte, usual_held_chunk_bytes = 128 * kibibyte;

std::size_t whole_pages(std::size_t bytes) {
    return bytes / least_page * least_page;
}

}  // namespace

// What arrives from the device needs the larger lane: at full rate the device must not write again to what processors
// have just read and still hold in their caches.
BudgetShares BudgetShares::of(std::size_t budget_bytes, bool to_device) {
    const std::size_t pool = std::max(budget_bytes / 16, std::min(budget_bytes / 8, least_pool_bytes));
    const std::size_t lane_to_device = budget_bytes / 8 * 3;
    return {to_device ? lane_to_device : budget_bytes - lane_to_device - 2 * pool,
            std::min(whole_pages(pool), most_pool_bytes)};
}

std::size_t Ring::chunk_bytes(std::size_t copy_bytes, std::size_t wanted_bytes) const {
    const std::size_t wanted =
        wanted_bytes != 0 ? wanted_bytes
                          : std::clamp(copy_bytes / suitable_chunks, least_suitable_bytes, most_suitable_bytes);
    return wanted <= bytes / least_slots ? wanted : bytes / most_slots;
}

std::optional<LanePlan> LanePlan::of(std::size_t budget_bytes, bool to_device, const RingUses& uses) {
    const std::size_t lane = BudgetShares::of(budget_bytes, to_device).lane_bytes;
    const std::size_t most_table = in_pages(std::max(uses.pieces, pieces_at_a_time) * offsets_bytes_a_piece);
    const std::size_t table = std::max(std::min(whole_pages(lane / share_of_offsets), most_table), least_page);
    if (lane <= table) return std::nullopt;
    // Chunks of the ring begin at pages.
    const std::size_t most_slot = in_pages(std::max(std::min(uses.chunk_bytes, lane), chunk_bytes_of_pieces));
    // What arrives over two links is still being unpacked while twice as much is on its way.
    const std::size_t slots = uses.are_several_links && !to_device ? Ring::most_divided_slots : Ring::most_slots;
    const std::size_t slot = std::min(whole_pages((lane - table) / slots), most_slot);
    if (slot < least_slot_bytes) return std::nullopt;
    return LanePlan{{to_device, slot * slots}, table / offsets_bytes_a_piece};
}

HeldPlan::HeldPlan(const HeldNeeds& needs, std::size_t pool_bytes) : bytes_(needs.bytes), buffers_(needs.buffers) {
    if (bytes_ == 0) return;
    // As large as the table wants, and no more of them than a queue holds.
    const std::size_t wanted = needs.wanted_chunk_bytes != 0 ? needs.wanted_chunk_bytes : usual_held_chunk_bytes;
    const std::size_t longest = needs.longest_bytes;
    wanted_chunk_bytes_ = in_pages(std::clamp(bytes_ / most_held_chunks, std::min(wanted, longest), longest));
    const std::size_t two = 2 * in_pages(std::max(bytes_ / most_held_chunks, least_page));
    least_ring_bytes_ = std::min({two, in_pages(longest), std::max(pool_bytes / 2, least_page)});
    const std::size_t slots = std::min(Ring::most_slots, chunks(wanted_chunk_bytes_));
    most_ring_bytes_ = std::max(least_ring_bytes_, slots * wanted_chunk_bytes_);
}

std::size_t HeldPlan::chunk_bytes(std::size_t ring_bytes) const {
    if (bytes_ == 0) return 0;
    const std::size_t slots = std::min(chunks(wanted_chunk_bytes_), wanted_held_slots);
    if (ring_bytes >= slots * wanted_chunk_bytes_) return wanted_chunk_bytes_;
    const std::size_t least = std::max(bytes_ / most_held_chunks, least_held_chunk_bytes);
    const std::size_t chunk =
        std::max(ring_bytes / wanted_held_slots, std::min({least, ring_bytes / 2, wanted_chunk_bytes_}));
    return std::max(whole_pages(chunk), least_page);
}

std::size_t HeldPlan::slots(std::size_t ring_bytes) const {
    return bytes_ == 0 ? 1 : std::min(Ring::most_slots, ring_bytes / chunk_bytes(ring_bytes));
}

}  // namespace isthmus
