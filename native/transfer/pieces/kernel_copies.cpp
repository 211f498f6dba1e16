// Pieces moved by kernels: over the link, or packed on the device for one copy.
#include "transfer/pieces/kernel_copies.hpp"

#include <string>

#include "backend/device.hpp"

namespace isthmus {

Units units_of(const Layout& destination, const Layout& source, const Extent& extent) {
    const std::size_t bytes = common_unit_bytes(destination, source, extent);
    return {bytes, 0, extent.bytes() / bytes};
}

Status KernelCopy::check(Device& device, MemoryKind host_kind) {
    if (device.kernels_reach(host_kind)) return {};
    return unsupported("kernels of this device do not reach " + std::string(name_of(host_kind)) + " memory");
}

Status KernelCopy::start() {
    Stream& stream = staging_->stream();
    ISTHMUS_TRY_ASSIGN(table, staging_->send_offsets(stream, destination_, source_));
    return device().copy_pieces(stream, destination_, source_, extent_, units_, table, staging_->kernel_blocks());
}

DevicePack::DevicePack(const Layout& destination, const Layout& source, const Extent& extent,
                       std::shared_ptr<Staging> staging)
    : PieceCopy(destination, source, extent, std::move(staging)),
      packed_(contiguous(*staging_->on_device(), 0, extent)),
      units_(to_device() ? units_of(destination, packed_, extent) : units_of(packed_, source, extent)) {}

Status DevicePack::check(const Layout& host_side, const Layout& device_side, const Extent& extent) {
    if (!host_side.is_contiguous(extent)) {
        return unsupported("the pieces lie apart in host memory, which kernels cannot pack");
    }
    if (device_side.is_contiguous(extent)) return unsupported("the pieces lie side by side on the device");
    return {};
}

Status DevicePack::start() {
    Stream& stream = staging_->stream();
    const Layout& host = host_side();
    const Region packed{packed_.allocation, 0, extent_.bytes()};
    const Region memory{host.allocation, host.offset, extent_.bytes()};
    if (to_device()) {
        ISTHMUS_TRY(device().copy(stream, packed, memory));
        ISTHMUS_TRY_ASSIGN(table, staging_->send_offsets(stream, destination_, {}));
        return device().copy_pieces(stream, destination_, packed_, extent_, units_, table, staging_->kernel_blocks());
    }
    ISTHMUS_TRY_ASSIGN(table, staging_->send_offsets(stream, {}, source_));
    ISTHMUS_TRY(device().copy_pieces(stream, packed_, source_, extent_, units_, table, staging_->kernel_blocks()));
    return device().copy(stream, memory, packed);
}

}  // namespace isthmus
