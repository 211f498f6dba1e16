// What is looked at before pieces of a batch are copied: where they are, and that they do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transfer/ends.hpp"
#include "transfer/session.hpp"

namespace isthmus {

// One side of the pieces of a batch.
struct BatchSide {
    const char* name;
    std::uintptr_t BatchPiece::*address;
    std::size_t BatchPiece::*offset_bytes;
};
inline constexpr BatchSide destinations{"destination", &BatchPiece::destination, &BatchPiece::destination_offset_bytes};
inline constexpr BatchSide sources{"source", &BatchPiece::source, &BatchPiece::source_offset_bytes};

// Makes sure that all pieces lie where the first one does, as far as the driver says where memory begins and ends. The
// host's memory counts as page-locked if it is one allocation that holds all of it.
Status check_side(Device& device, std::span<const BatchPiece> pieces, const BatchSide& side, std::optional<Side> said,
                  Ends& ends);

// Fails with invalid_argument where pieces of any sizes overlap where they are written to, or are written to where
// others are read. Where memory has no addresses, only places of one handle can overlap.
Status check_apart(std::span<const BatchPiece> pieces, bool destination_has_addresses, bool source_has_addresses);

}  // namespace isthmus
