// How a transfer is cut into chunks for threads that pack them while others are on their way.
#include "transfer/chunks.hpp"

#include <algorithm>

namespace isthmus {

std::vector<std::size_t> chunk_ends(std::size_t bytes, std::size_t threads) {
    std::vector<std::size_t> ends;
    std::size_t growing = least_chunk_bytes;
    for (std::size_t end = 0; end < bytes;) {
        // Each thread's next is twice its last; what is left is shared in halves.
        if (!ends.empty() && ends.size() % threads == 0) growing = std::min(2 * growing, most_chunk_bytes);
        const std::size_t half_share = (bytes - end) / (2 * threads) / chunk_multiple * chunk_multiple;
        const std::size_t chunk = std::max(std::min(growing, half_share), least_chunk_bytes);
        end = std::min(bytes, end + chunk);
        ends.push_back(end);
    }
    return ends;
}

}  // namespace isthmus
