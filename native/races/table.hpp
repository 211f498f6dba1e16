// Values by handles, of a size that never changes: nothing is allocated while a lock is held. All zero is an empty one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace isthmus::races {

template <typename Value, std::size_t capacity>
class Table {
    static_assert((capacity & (capacity - 1)) == 0);

  public:
    Value* find(std::uintptr_t key) {
        const std::size_t at = place_of(key);
        return at != capacity && entries_[at].key == key ? &entries_[at].value : nullptr;
    }
    const Value* find(std::uintptr_t key) const { return const_cast<Table*>(this)->find(key); }
    // Null where there is no room. A new value is what was left there.
    Value* find_or_add(std::uintptr_t key, bool& is_new) {
        const std::size_t at = place_of(key);
        is_new = at != capacity && entries_[at].key != key;
        if (at == capacity || (is_new && count_ >= capacity / 4 * 3)) return nullptr;
        count_ += is_new ? 1 : 0;
        entries_[at].key = key;
        return &entries_[at].value;
    }
    void remove(std::uintptr_t key) {
        std::size_t hole = place_of(key);
        if (hole == capacity || entries_[hole].key != key) return;
        --count_;
        entries_[hole].key = 0;
        // What is behind it and was kept from its own place moves up.
        for (std::size_t at = next(hole); entries_[at].key != 0; at = next(at)) {
            const std::size_t wanted = first(entries_[at].key);
            if (((at - wanted) & (capacity - 1)) < ((at - hole) & (capacity - 1))) continue;
            entries_[hole] = entries_[at];
            entries_[at].key = 0;
            hole = at;
        }
    }

  private:
    struct Entry {
        std::uintptr_t key = 0;
        Value value{};
    };
    static std::size_t first(std::uintptr_t key) {
        constexpr unsigned half = 32;
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> half) & (capacity - 1);
    }
    static std::size_t next(std::size_t at) { return (at + 1) & (capacity - 1); }
    // Where it is, or would be; `capacity` for no key. Never full.
    std::size_t place_of(std::uintptr_t key) const {
        if (key == 0) return capacity;
        std::size_t at = first(key);
        while (entries_[at].key != 0 && entries_[at].key != key) at = next(at);
        return at;
    }

    std::size_t count_ = 0;
    std::array<Entry, capacity> entries_{};
};

}  // namespace isthmus::races
