// A copy between memory that devices reach and the device in chunks, which are divided over several links while it
// runs.
#pragma once

#include "transfer/copy/outcome.hpp"
#include "transfer/links/links.hpp"
#include "transfer/links/stream_pool.hpp"

namespace isthmus {

// Each link takes the next chunk when it is free; where `links` is null, that is the own link. Few are in flight at a
// time, so that other copies get between them. Returns when all has arrived, or all that was begun has ended; what a
// relay that fails has not brought goes by the own link. `own` is current for the calling thread.
Outcome copy_divided(Device& own, StreamPool::Loan& loan, Links::Use* links, std::size_t chunk_bytes,
                     const Region& destination, const Region& source);

}  // namespace isthmus
