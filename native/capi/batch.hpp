// The pieces of a batch, from the three arrays that C passes.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "transfer/copy/batch.hpp"

namespace isthmus::capi {

// Views of them. Addresses of pieces of no bytes may be null. Fails with invalid_argument, naming the piece.
Result<Batch> batch_of(std::size_t pieces, void* const* destinations, const void* const* sources,
                       const std::size_t* bytes);

}  // namespace isthmus::capi
