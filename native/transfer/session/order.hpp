// The streams that a copy comes behind.
#pragma once

#include <memory>

#include "backend/stream.hpp"

namespace isthmus {

// The caller's stream, the default one, or none where there is no such thing.
struct Order {
    std::unique_ptr<Stream> borrowed;
    Stream* stream = nullptr;
    std::unique_ptr<Stream> others;  // of the other device, where that has a part in the order; may be alone

    // Returns when all that it holds has ended.
    Status wait() const { return stream == nullptr ? Status() : stream->synchronize(); }
};

}  // namespace isthmus
