// The pieces of a batch, from the three arrays that C passes.
#pragma once

#include <cstddef>
#include <vector>

#include "transfer/session.hpp"

namespace isthmus::capi {

// Leaves out pieces of no bytes, whose addresses may be null. Fails with invalid_argument, naming the piece.
Result<std::vector<BatchPiece>> batch_of(std::size_t pieces, void* const* destinations, const void* const* sources,
                                         const std::size_t* bytes);

}  // namespace isthmus::capi
