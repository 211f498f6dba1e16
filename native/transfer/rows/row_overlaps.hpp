// Whether rows that are written to overlap others: as far as places tell, whatever rows lists name, and exactly.
#pragma once

#include <cstdint>
#include <span>

#include "transfer/rows/row_copy.hpp"

namespace isthmus {

struct RowOverlaps {
    // Whether no two rows of destinations overlap that the lists name once.
    bool destinations_are_apart = false;
    // Sources and destinations: memory apart; the same arrays, so that rows of one number overlap and others do not;
    // or anything else, which takes a look at each row.
    enum class Sides { apart, same, unknown };
    Sides sides = Sides::unknown;
};

// `may_meet`: whether both sides are memory of one kind, so that they can be the same.
RowOverlaps overlaps_of(const RowGeometry& geometry, bool may_meet);

// Fails with invalid_argument where rows overlap that the lists name, which were checked.
Status check_apart(const RowGeometry& geometry, const RowOverlaps& overlaps,
                   std::span<const std::int64_t> destination_rows, std::span<const std::int64_t> source_rows);

}  // namespace isthmus
