// Many pieces that one call copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/reach.hpp"

namespace isthmus {

// One piece: so many bytes on either side.
struct BatchPiece {
    std::uintptr_t destination = 0, source = 0;
    std::size_t bytes = 0;
    // As ArrayView::offset_bytes: within memory without addresses (OpenCL), else 0.
    std::size_t destination_offset_bytes = 0, source_offset_bytes = 0;
};

// One side of all pieces.
struct BatchSide {
    std::span<const void* const> addresses;
    std::span<const std::size_t> offsets_bytes;  // none where all are 0
    // For a batch that is copied again and again, so that each copy need not look: the distances of the addresses from
    // the lowest, and what they have in common.
    std::span<const std::uint64_t> from_lowest{};
    Reach reach{};

    std::uintptr_t address(std::size_t piece) const { return reinterpret_cast<std::uintptr_t>(addresses[piece]); }
    std::size_t offset_bytes(std::size_t piece) const { return offsets_bytes.empty() ? 0 : offsets_bytes[piece]; }
    BatchSide subside(std::size_t first, std::size_t count) const {
        return {addresses.subspan(first, count),
                offsets_bytes.empty() ? offsets_bytes : offsets_bytes.subspan(first, count),
                {},
                {}};
    }
};

// Lists as a caller has them, for tens of thousands of pieces take longer to be written down anew than to be moved.
struct Batch {
    BatchSide destinations, sources;
    std::span<const std::size_t> bytes;
    bool is_disjoint = false;  // it is known that no two overlap where they are written to

    std::size_t pieces() const { return bytes.size(); }
    BatchPiece piece(std::size_t index) const {
        return {destinations.address(index), sources.address(index), bytes[index], destinations.offset_bytes(index),
                sources.offset_bytes(index)};
    }
    Batch part(std::size_t first, std::size_t count) const {
        return {destinations.subside(first, count), sources.subside(first, count), bytes.subspan(first, count),
                is_disjoint};
    }
};

// A batch with lists of its own.
class BatchLists {
  public:
    void reserve(std::size_t pieces) {
        destinations_.addresses.reserve(pieces);
        sources_.addresses.reserve(pieces);
        bytes_.reserve(pieces);
    }
    void add(const BatchPiece& piece) {
        destinations_.add(piece.destination, piece.destination_offset_bytes);
        sources_.add(piece.source, piece.source_offset_bytes);
        bytes_.push_back(piece.bytes);
    }
    bool empty() const { return bytes_.empty(); }
    // Until more is added.
    Batch batch() const { return {destinations_.side(), sources_.side(), bytes_, is_disjoint_}; }
    // For copies again and again of pieces of one size, at addresses. Precondition: no more is added.
    void prepare(bool is_disjoint) {
        is_disjoint_ = is_disjoint;
        destinations_.prepare();
        sources_.prepare();
    }

  private:
    struct List {
        std::vector<const void*> addresses;
        std::vector<std::size_t> offsets_bytes;
        std::vector<std::uint64_t> from_lowest;
        Reach reach;

        void add(std::uintptr_t address, std::size_t offset_bytes) {
            if (offset_bytes != 0 || !offsets_bytes.empty()) {
                offsets_bytes.resize(addresses.size());
                offsets_bytes.push_back(offset_bytes);
            }
            addresses.push_back(reinterpret_cast<const void*>(address));  // NOLINT(performance-no-int-to-ptr)
        }
        void prepare() {
            if (addresses.empty() || !offsets_bytes.empty()) return;
            reach = reach_of(addresses);
            from_lowest.reserve(addresses.size());
            for (const void* const address : addresses) {
                from_lowest.push_back(reinterpret_cast<std::uintptr_t>(address) - reach.lowest);
            }
        }
        BatchSide side() const { return {addresses, offsets_bytes, from_lowest, reach}; }
    };
    List destinations_, sources_;
    std::vector<std::size_t> bytes_;
    bool is_disjoint_ = false;
};

}  // namespace isthmus
