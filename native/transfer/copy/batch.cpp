// Many pieces that one call copies.
#include "transfer/copy/batch.hpp"

namespace isthmus {

void BatchLists::reserve(std::size_t pieces) {
    destinations_.addresses.reserve(pieces);
    sources_.addresses.reserve(pieces);
    bytes_.reserve(pieces);
}

void BatchLists::add(const BatchPiece& piece) {
    destinations_.add(piece.destination, piece.destination_offset_bytes);
    sources_.add(piece.source, piece.source_offset_bytes);
    bytes_.push_back(piece.bytes);
}

Batch BatchLists::batch() const {
    return {destinations_.side(), sources_.side(), bytes_};
}

void BatchLists::List::add(std::uintptr_t address, std::size_t offset_bytes_of_piece) {
    if (offset_bytes_of_piece != 0 || !offsets_bytes.empty()) {
        offsets_bytes.resize(addresses.size());
        offsets_bytes.push_back(offset_bytes_of_piece);
    }
    addresses.push_back(reinterpret_cast<const void*>(address));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace isthmus
