// What all backends do alike.
#include "backend/device.hpp"

#include <bit>

#include "backend/device_info.hpp"
#include "backend/kernel_blocks.hpp"
#include "backend/launch.hpp"
#include "base/pages.hpp"

namespace isthmus {

Shape square_shape(std::size_t bytes) {
    const std::size_t elements = (bytes + sizeof(float) - 1) / sizeof(float);
    const std::size_t width_bytes = sizeof(float) * (std::size_t{1} << (std::bit_width(elements) / 2));
    return {width_bytes, (bytes + width_bytes - 1) / width_bytes, 0};
}

Result<std::unique_ptr<Allocation>> Device::hold(MemoryKind kind, std::size_t bytes) {
    ISTHMUS_TRY_ASSIGN(memory, reserve(kind, bytes));
    ISTHMUS_TRY(memory->prepare());
    ISTHMUS_TRY(memory->acquire());
    return std::move(memory);
}

Result<std::unique_ptr<Allocation>> Device::allocate(MemoryKind kind, std::size_t bytes) {
    ISTHMUS_TRY_ASSIGN(memory, hold(kind, bytes));
    // Managed pages come to be on the side that uses them first, which is for the caller to choose.
    if (!allocates_late(kind) || kind == MemoryKind::managed) return std::move(memory);
    if (memory->host() != nullptr) {
        touch_pages(memory->host(), bytes);
    } else {
        ISTHMUS_TRY_ASSIGN(stream, create_stream());
        ISTHMUS_TRY(set_bytes(*stream, {memory.get(), 0, bytes}, 0));
        ISTHMUS_TRY(stream->synchronize());
    }
    return std::move(memory);
}

PeerReading Device::read_peer(const Device&) const {
    return {};
}

Status synchronized(Status enqueued, Stream& stream) {
    Status ended = stream.synchronize();
    return enqueued.ok() ? std::move(ended) : std::move(enqueued);
}

Status Device::copy_pieces(Stream& stream, const Layout& destination, const Layout& source, const Extent& extent,
                           const Units& units, Region table, const KernelBlocks& blocks) {
    const std::uint32_t scattered = (destination.is_scattered() ? 1U : 0U) | (source.is_scattered() ? 2U : 0U);
    const std::uint32_t most =
        blocks.of(is_on_device(source.allocation->kind()), is_on_device(destination.allocation->kind()), units.bytes);
    return launch_few(*this, stream, most, kernel::copy_pieces, {destination.allocation, destination.offset, 0},
                      destination.pitch_bytes, destination.slice_pitch_bytes, {source.allocation, source.offset, 0},
                      source.pitch_bytes, source.slice_pitch_bytes, scattered != 0 ? table : Region(), scattered,
                      static_cast<std::uint32_t>(units.bytes), extent.width_bytes, extent.rows, extent.pieces(),
                      units.first, units.count);
}

Result<std::unique_ptr<Latch>> Device::close_latch(Stream& stream) {
    ISTHMUS_TRY_ASSIGN(rendezvous, create_rendezvous());
    ISTHMUS_TRY(rendezvous->wait_for_host(stream, 1));
    ISTHMUS_TRY(rendezvous->tell_host(stream, 1));
    return std::make_unique<Latch>(std::move(rendezvous));
}

Result<std::shared_ptr<Device>> Device::open_other(int) const {
    return unsupported("devices of this backend do not copy to each other");
}

Status Device::copy_now(Stream& stream, Side to, std::uintptr_t destination, std::uintptr_t source, std::size_t bytes,
                        MemoryKind host) {
    const bool to_device = to == Side::device;
    ISTHMUS_TRY_ASSIGN(there, borrow(to_device ? MemoryKind::device : host, destination, bytes));
    ISTHMUS_TRY_ASSIGN(here, borrow(to_device ? host : MemoryKind::device, source, bytes));
    return synchronized(copy(stream, {there.get(), 0, bytes}, {here.get(), 0, bytes}), stream);
}

}  // namespace isthmus
