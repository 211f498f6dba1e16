// Lists of offsets that batches have used, for those to come: a megabyte takes the system longer to give than filling
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace isthmus {

// May be used by any number of threads at once.
class SpareOffsets {
  public:
    // One with whatever it held before; an empty one where there is none.
    std::vector<std::uint64_t> take() {
        const std::lock_guard lock(mutex_);
        for (std::vector<std::uint64_t>& kept : lists_) {
            if (kept.capacity() != 0) return std::exchange(kept, {});
        }
        return {};
    }
    // Keeps a few, and none that is very long.
    void give(std::vector<std::uint64_t> list) noexcept {
        if (list.capacity() == 0 || list.capacity() > most_offsets) return;
        const std::lock_guard lock(mutex_);
        for (std::vector<std::uint64_t>& kept : lists_) {
            if (kept.capacity() == 0) return void(kept = std::move(list));
        }
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        for (std::vector<std::uint64_t>& kept : lists_) std::exchange(kept, {});
    }

  private:
    static constexpr std::size_t most_offsets = std::size_t{1} << 20;

    std::mutex mutex_;
    std::array<std::vector<std::uint64_t>, 4> lists_;  // without memory where there is none
};

}  // namespace isthmus
