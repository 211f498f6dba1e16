// What a copy or fill reads or writes, and which work of which stream it is.
#pragma once

#include <cstdint>

#include "races/order.hpp"
#include "races/rows.hpp"

namespace isthmus::races {

struct Access {
    Rows rows;
    bool is_write = false, is_free = false;
    std::uint64_t fill = 0;  // a number for what it fills with, not 0: two fills of one value are no race
    Line line = default_line;
    std::uint64_t work = 0;
    std::uintptr_t stream = 0;
    std::uint32_t site = 0, thread = 0;

    bool conflicts(const Access& other) const {
        const bool is_same_fill = fill != 0 && fill == other.fill;
        return (is_write || other.is_write) && !is_same_fill && rows.meets(other.rows);
    }
};

}  // namespace isthmus::races
