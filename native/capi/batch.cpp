// The pieces of a batch, from the three arrays that C passes.
#include "capi/batch.hpp"

#include <string>

#include "capi/ending.hpp"

namespace isthmus::capi {

Result<std::vector<BatchPiece>> batch_of(std::size_t pieces, void* const* destinations, const void* const* sources,
                                         const std::size_t* bytes) {
    std::vector<BatchPiece> batch;
    if (pieces == 0) return batch;
    if (destinations == nullptr) return null_argument("destinations");
    if (sources == nullptr) return null_argument("sources");
    if (bytes == nullptr) return null_argument("bytes");
    batch.reserve(pieces);
    for (std::size_t i = 0; i < pieces; ++i) {
        if (bytes[i] == 0) continue;
        if (destinations[i] == nullptr || sources[i] == nullptr) {
            const std::string index = "[" + std::to_string(i) + "]";
            return null_argument(((destinations[i] == nullptr ? "destinations" : "sources") + index).c_str());
        }
        // Names are put together where one is needed: for all of them it takes as long as moving the pieces.
        if (bytes[i] > PTRDIFF_MAX) return check_bytes(bytes[i], "bytes[" + std::to_string(i) + "]");
        batch.push_back({reinterpret_cast<std::uintptr_t>(destinations[i]),
                         reinterpret_cast<std::uintptr_t>(sources[i]), bytes[i]});
    }
    return batch;
}

}  // namespace isthmus::capi
