// What a call copies, fills or frees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "races/calls.hpp"
#include "races/rows.hpp"

namespace isthmus::races {

enum class Memory { pageable, pinned, device, other };

// One side of a copy: where it has no rows, an array of the device, or nothing.
struct Side {
    Rows rows;
    Memory memory = Memory::device;
    bool is_known = false;  // of a block of pinned memory that is followed

    // Asks the driver what memory it is of, where that is not known.
    void look();
};

struct Piece {
    Side to, from;
    std::uint64_t fill = 0;
    bool is_free = false;
    std::uint64_t work = 0;  // where it is followed
};

using Pieces = std::vector<Piece>;

// What a batch copies, in order; nothing where its sources may be read out of order.
Pieces pieces_of_batch(const Words& words);
// What any other call copies, fills or frees; none where that is not known.
std::optional<Piece> piece_of(const Called& called, const Words& words);

}  // namespace isthmus::races
