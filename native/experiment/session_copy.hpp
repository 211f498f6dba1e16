// Copies as callers of the library make them, timed next to those of drivers.
#pragma once

#include <memory>

#include "backend/layout.hpp"
#include "backend/region.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {
class Session;
}

namespace isthmus::experiment {

// Between host memory and the device; returns when all has arrived. Fails with unsupported for host memory that only
// OpenCL can address.
Status copy_by_session(Session& session, const Region& destination, const Region& source);

// The same of pieces: one array where they are regular on both sides, else a batch, whose lists are written once.
// Layouts' offsets must outlive what is returned.
Result<std::shared_ptr<PieceCopy>> pieces_by_session(std::shared_ptr<Session> session, const Layout& destination,
                                                     const Layout& source, const Extent& extent,
                                                     std::shared_ptr<Staging> staging);

}  // namespace isthmus::experiment
