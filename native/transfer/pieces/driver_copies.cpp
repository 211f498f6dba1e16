// Pieces moved by calls of the driver alone.
#include "transfer/pieces/driver_copies.hpp"

#include "backend/device.hpp"

namespace isthmus {

Status SeparateCopies::start() {
    Stream& stream = staging_->stream();
    const std::size_t width = extent_.width_bytes;
    const std::size_t pieces = extent_.pieces();
    for (std::size_t i = 0; i < pieces; ++i) {
        ISTHMUS_TRY(device().copy(stream, {destination_.allocation, destination_.at(i, extent_), width},
                                  {source_.allocation, source_.at(i, extent_), width}));
        if (waits_) ISTHMUS_TRY(stream.synchronize());
    }
    return {};
}

PreparedPieceCopies::PreparedPieceCopies(const Layout& destination, const Layout& source, const Extent& extent,
                                         std::shared_ptr<Staging> staging, std::unique_ptr<PreparedCopies> prepared)
    : PieceCopy(destination, source, extent, std::move(staging)), prepared_(std::move(prepared)) {}

PreparedPieceCopies::~PreparedPieceCopies() = default;

Status PreparedPieceCopies::start() {
    return prepared_->enqueue(staging_->stream());
}

Status SectionCopy::start() {
    return device().copy_section(staging_->stream(), destination_, source_, extent_);
}

Status WholeCopy::check(const Layout& destination, const Layout& source, const Extent& extent) {
    const bool alike = !destination.is_scattered() && !source.is_scattered() &&
                       destination.pitch_bytes == source.pitch_bytes &&
                       (extent.slices == 1 || destination.slice_pitch_bytes == source.slice_pitch_bytes);
    if (!alike) return unsupported("the two sides differ in their layout");
    if (source.is_contiguous(extent)) return unsupported("nothing lies between the pieces");
    return {};
}

Status WholeCopy::start() {
    const std::size_t bytes = bytes_moved();
    return device().copy(staging_->stream(), {destination_.allocation, destination_.offset, bytes},
                         {source_.allocation, source_.offset, bytes});
}

}  // namespace isthmus
