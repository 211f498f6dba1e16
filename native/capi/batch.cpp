// The pieces of a batch, from the three arrays that C passes.
#include "capi/batch.hpp"

#include <cstdint>
#include <string>

#include "capi/ending.hpp"

namespace isthmus::capi {

Result<Batch> batch_of(std::size_t pieces, void* const* destinations, const void* const* sources,
                       const std::size_t* bytes) {
    if (pieces == 0) return Batch{};
    if (destinations == nullptr) return null_argument("destinations");
    if (sources == nullptr) return null_argument("sources");
    if (bytes == nullptr) return null_argument("bytes");
    const Batch batch{{{destinations, pieces}, {}}, {{sources, pieces}, {}}, {bytes, pieces}};
    // Nulls less one, as sizes that are too large, have the highest bit: most batches have none, which one quick pass
    // finds out.
    std::uintptr_t bits = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
        bits |= (batch.destinations.address(i) - 1) | (batch.sources.address(i) - 1) | bytes[i];
    }
    for (std::size_t i = 0; bits > PTRDIFF_MAX && i < pieces; ++i) {
        if (bytes[i] == 0) continue;
        std::string index(1, '[');
        index += std::to_string(i) + "]";
        if (destinations[i] == nullptr) return null_argument(("destinations" + index).c_str());
        if (sources[i] == nullptr) return null_argument(("sources" + index).c_str());
        ISTHMUS_TRY(check_bytes(bytes[i], "bytes" + index));
    }
    return batch;
}

}  // namespace isthmus::capi
