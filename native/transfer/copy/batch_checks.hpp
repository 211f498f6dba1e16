// What is looked at before pieces of a batch are copied: where they are, and that they do not overlap.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "transfer/copy/batch.hpp"
#include "transfer/copy/ends.hpp"

namespace isthmus {

// Whether all are of one size.
bool is_one_size(std::span<const std::size_t> bytes);

// Makes sure that all pieces lie on one side, of `kind`, where the first one does, as far as the driver says where
// memory begins and ends. The host's memory counts as page-locked if it is one allocation that holds all of it.
// `side_name`: of one piece.
Status check_side(Device& device, const BatchSide& side, std::span<const std::size_t> bytes, const char* side_name,
                  std::optional<Side> stated, MemoryKind& kind, bool& partly_locked);

// What is said of pieces that overlap where they are written to.
Status overlapping_destinations();

// Whether pieces of one size do not overlap where they are written to, as far as their addresses alone say it.
bool are_destinations_disjoint(const Batch& batch);

// Fails with invalid_argument where pieces of any sizes overlap where they are written to, or are written to where
// others are read. Where memory has no addresses, only places of one handle can overlap.
Status check_apart(const Batch& batch, bool destination_has_addresses, bool source_has_addresses);

}  // namespace isthmus
