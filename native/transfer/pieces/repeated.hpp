// Sources that repeat their elements, by steps of 0 bytes: what they would be without repetition, written out.
#pragma once

#include <cstddef>

#include "transfer/pieces/pack.hpp"

namespace isthmus {

// As pack(), of a layout that has steps.
void write_out(std::byte* to, const Layout& from, const Extent& extent, std::size_t begin, std::size_t end,
               Stores stores);

}  // namespace isthmus
