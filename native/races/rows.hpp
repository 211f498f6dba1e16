// Bytes that a copy uses: one row, or several that a pitch parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::races {

struct Range {
    std::uintptr_t begin = 0, end = 0;
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
    bool contains(std::uintptr_t address) const { return begin <= address && address < end; }
    bool contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
    bool empty() const { return begin >= end; }
};

struct Rows {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0, count = 1, pitch = 0;  // of a row; rows

    bool empty() const { return bytes == 0 || count == 0; }
    // Whether nothing is between them.
    bool is_one() const { return count == 1 || pitch == bytes; }
    // From the first byte to the last.
    Range range() const { return empty() ? Range{begin, begin} : Range{begin, begin + (count - 1) * pitch + bytes}; }
    bool meets(const Range& other) const {
        if (!range().overlaps(other)) return false;
        if (is_one()) return true;
        // The first row that ends behind where the other begins.
        const std::size_t row = other.begin < begin + bytes ? 0 : (other.begin - begin - bytes) / pitch + 1;
        return row < count && begin + row * pitch < other.end;
    }
    // Where both have more rows than are looked at, false: it is not known.
    bool meets(const Rows& other) const {
        if (is_one()) return other.meets(range());
        if (other.is_one()) return meets(other.range());
        if (count > other.count) return other.meets(*this);
        constexpr std::size_t most_rows = 65536;
        if (count > most_rows) return false;
        for (std::size_t i = 0; i < count; ++i) {
            if (other.meets(Range{begin + i * pitch, begin + i * pitch + bytes})) return true;
        }
        return false;
    }
    bool covers(const Rows& other) const {
        if (is_one()) return range().contains(other.range());
        return begin == other.begin && pitch == other.pitch && bytes >= other.bytes && count >= other.count;
    }
};

}  // namespace isthmus::races
