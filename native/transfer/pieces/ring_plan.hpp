// The one plan of a session's page-locked memory: each direction's share of the budget, the chunks that a ring is cut
// into, and how many of them are in flight at once. Lanes, held copies, calibration and the built-in tables ask here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace isthmus {

// Enough for nearly everything: page-locking more takes long.
inline constexpr std::size_t default_pinned_budget_bytes = std::size_t{64} << 20;
// After so many bytes a large copy hands its lane to the caller that waits for it.
inline constexpr std::size_t turn_bytes = std::size_t{64} << 20;

// What one direction gets of a session's budget: its lane, and the pool that held copies have their rings from.
struct BudgetShares {
    std::size_t lane_bytes = 0, pool_bytes = 0;

    static BudgetShares of(std::size_t budget_bytes, bool to_device);
};

// A ring of page-locked memory through which the chunks of one copy cross the link, one after another.
struct Ring {
    // As many chunks as there is room for are being packed or in flight at once, within these bounds.
    static constexpr std::size_t most_slots = 8, least_slots = 3;
    // The same where they go over several links at once, and how many there are.
    static constexpr std::size_t most_divided_slots = 16;
    std::size_t divided_slots() const { return to_device ? most_slots : most_divided_slots; }

    bool to_device = true;
    std::size_t bytes = 0;

    // What a copy of so many bytes is cut into: chunks of the bytes that a table wants (0: of what suits the size), if
    // at least three fit the ring; else smaller ones, of which the usual number fits.
    std::size_t chunk_bytes(std::size_t copy_bytes, std::size_t wanted_bytes) const;
    std::size_t slots(std::size_t chunk_bytes) const { return std::min(most_slots, bytes / chunk_bytes); }
};

// What a table can make use of at most; more than that is not page-locked, however large the budget.
struct RingUses {
    std::size_t chunk_bytes = SIZE_MAX, pieces = 0;
    bool are_several_links = false;
};

// What a lane holds: a ring, and offsets for so many scattered pieces.
struct LanePlan {
    Ring ring;
    std::size_t pieces = 0;

    // None where the lane's share of the budget holds no ring of chunks that are worth sending.
    static std::optional<LanePlan> of(std::size_t budget_bytes, bool to_device, const RingUses& uses = {});
};

// What a held copy sends through a ring of its own.
struct HeldNeeds {
    std::size_t bytes = 0, buffers = 0;  // all bytes, and of how many buffers
    std::size_t longest_bytes = 0;       // of one buffer
    std::size_t wanted_chunk_bytes = 0;  // by the table; 0 where it names none
};

// How large the ring of a held copy is to be, of a pool of so many bytes, and how the one that it got is cut. Whole
// pages; none where no bytes are sent.
class HeldPlan {
  public:
    HeldPlan(const HeldNeeds& needs, std::size_t pool_bytes);
    std::size_t least_ring_bytes() const { return least_ring_bytes_; }
    std::size_t most_ring_bytes() const { return most_ring_bytes_; }
    std::size_t chunk_bytes(std::size_t ring_bytes) const;
    std::size_t slots(std::size_t ring_bytes) const;

  private:
    std::size_t chunks(std::size_t chunk_bytes) const { return std::max(buffers_, bytes_ / chunk_bytes + 1); }

    std::size_t bytes_, buffers_;
    std::size_t wanted_chunk_bytes_ = 0;
    std::size_t least_ring_bytes_ = 0, most_ring_bytes_ = 0;
};

}  // namespace isthmus
