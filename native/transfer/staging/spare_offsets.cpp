// Lists of offsets that batches have used.
#include "transfer/staging/spare_offsets.hpp"

#include <cstddef>
#include <utility>

namespace isthmus {
namespace {

constexpr std::size_t most_offsets = std::size_t{1} << 20;

}  // namespace

std::vector<std::uint64_t> SpareOffsets::take() {
    const std::lock_guard lock(mutex_);
    for (std::vector<std::uint64_t>& kept : lists_) {
        if (kept.capacity() != 0) return std::exchange(kept, {});
    }
    return {};
}

void SpareOffsets::give(std::vector<std::uint64_t> list) noexcept {
    if (list.capacity() == 0 || list.capacity() > most_offsets) return;
    const std::lock_guard lock(mutex_);
    for (std::vector<std::uint64_t>& kept : lists_) {
        if (kept.capacity() != 0) continue;
        kept = std::move(list);
        return;
    }
}

void SpareOffsets::clear() {
    const std::lock_guard lock(mutex_);
    for (std::vector<std::uint64_t>& kept : lists_) std::exchange(kept, {});
}

}  // namespace isthmus
