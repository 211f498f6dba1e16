// Lists of offsets that batches have used.
#include "transfer/staging/spare_offsets.hpp"

#include <cstddef>
#include <utility>

namespace isthmus {
namespace {

constexpr std::size_t most_lists = 4;
constexpr std::size_t most_offsets = std::size_t{1} << 20;

}  // namespace

std::vector<std::uint64_t> SpareOffsets::take() {
    const std::lock_guard lock(mutex_);
    if (lists_.empty()) return {};
    std::vector<std::uint64_t> list = std::move(lists_.back());
    lists_.pop_back();
    return list;
}

void SpareOffsets::give(std::vector<std::uint64_t> list) {
    if (list.capacity() == 0 || list.capacity() > most_offsets) return;
    const std::lock_guard lock(mutex_);
    if (lists_.size() < most_lists) lists_.push_back(std::move(list));
}

void SpareOffsets::clear() {
    const std::lock_guard lock(mutex_);
    lists_.clear();
}

}  // namespace isthmus
