// Methods to move pieces between host memory and the device.
#include "transfer/pieces/piece_copy.hpp"

#include <utility>

#include "backend/device.hpp"
#include "base/threads.hpp"
#include "transfer/pieces/kernel_copies.hpp"
#include "transfer/pieces/pack_on_threads.hpp"
#include "transfer/pieces/packed_copies.hpp"

namespace isthmus {
namespace {

// By calls of the driver alone, as the next three.
class SeparateCopies final : public PieceCopy {
  public:
    SeparateCopies(const Layout& destination, const Layout& source, const Extent& extent,
                   std::shared_ptr<Staging> staging, bool waits)
        : PieceCopy(destination, source, extent, std::move(staging)), waits_(waits) {}

  protected:
    Status start() override {
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

  private:
    bool waits_;
};

class PreparedPieceCopies final : public PieceCopy {
  public:
    PreparedPieceCopies(const Layout& destination, const Layout& source, const Extent& extent,
                        std::shared_ptr<Staging> staging, std::unique_ptr<PreparedCopies> prepared)
        : PieceCopy(destination, source, extent, std::move(staging)), prepared_(std::move(prepared)) {}

  protected:
    Status start() override { return prepared_->enqueue(staging_->stream()); }

  private:
    std::unique_ptr<PreparedCopies> prepared_;
};

class SectionCopy final : public PieceCopy {
  public:
    using PieceCopy::PieceCopy;

  protected:
    Status start() override { return device().copy_section(staging_->stream(), destination_, source_, extent_); }
};

class WholeCopy final : public PieceCopy {
  public:
    using PieceCopy::PieceCopy;
    // Why it would not do; nothing when both sides have one layout.
    static Status check(const Layout& destination, const Layout& source, const Extent& extent) {
        const bool alike = !destination.is_scattered() && !source.is_scattered() &&
                           destination.pitch_bytes == source.pitch_bytes &&
                           (extent.slices == 1 || destination.slice_pitch_bytes == source.slice_pitch_bytes);
        if (!alike) return unsupported("the two sides differ in their layout");
        if (source.is_contiguous(extent)) return unsupported("nothing lies between the pieces");
        return {};
    }
    std::size_t bytes_moved() const override { return source_.span_bytes(extent_); }

  protected:
    Status start() override {
        const std::size_t bytes = bytes_moved();
        return device().copy(staging_->stream(), {destination_.allocation, destination_.offset, bytes},
                             {source_.allocation, source_.offset, bytes});
    }
};

// What is against the method with layouts that are right in themselves.
Status check_method(PieceMethod method, const Layout& destination, const Layout& source, const Extent& extent,
                    Staging& staging, const FileBytes* file) {
    const bool to_device = is_on_device(destination.allocation->kind());
    const Layout& host_side = to_device ? source : destination;
    const Layout& device_side = to_device ? destination : source;
    if (file != nullptr && method != PieceMethod::pack_threads) {
        return unsupported("files are read by threads that pack, and by nothing else");
    }
    switch (method) {
        case PieceMethod::whole: return WholeCopy::check(destination, source, extent);
        case PieceMethod::kernel:
            ISTHMUS_TRY(KernelCopy::check(staging.device(), host_side.allocation->kind()));
            return staging.check_offsets(destination, source);
        case PieceMethod::device_pack:
            ISTHMUS_TRY(DevicePack::check(host_side, device_side, extent));
            ISTHMUS_TRY(staging.check_offsets({}, device_side));
            ISTHMUS_TRY(staging.check_bytes(extent));
            return staging.need_device_memory();
        case PieceMethod::pack_kernel:
            ISTHMUS_TRY(KernelCopy::check(staging.device(), staging.host().kind()));
            ISTHMUS_TRY(PackedCopy::check(host_side, extent));
            ISTHMUS_TRY(staging.check_offsets({}, device_side));
            return staging.need_threads();
        case PieceMethod::pack:
        case PieceMethod::pack_threads:
            if (file == nullptr) ISTHMUS_TRY(PackedCopy::check(host_side, extent));
            if (needs_kernel(device_side, extent)) {
                ISTHMUS_TRY(staging.check_offsets({}, device_side));
                ISTHMUS_TRY(staging.need_device_memory());
            }
            return method == PieceMethod::pack ? staging.check_bytes(extent) : staging.need_threads();
        default: return {};
    }
}

template <typename Copy, typename... Arguments>
std::shared_ptr<PieceCopy> copy_of(Arguments&&... arguments) {
    return std::make_shared<Copy>(std::forward<Arguments>(arguments)...);
}

Result<std::shared_ptr<PieceCopy>> make(PieceMethod method, const Layout& destination, const Layout& source,
                                        const Extent& extent, std::shared_ptr<Staging> staging,
                                        const Packing& packing) {
    Device& device = staging->device();
    switch (method) {
        case PieceMethod::waited_copies:
        case PieceMethod::copies:
            return copy_of<SeparateCopies>(destination, source, extent, std::move(staging),
                                           method == PieceMethod::waited_copies);
        case PieceMethod::batch: {
            ISTHMUS_TRY_ASSIGN(prepared, device.prepare_batch(destination, source, extent));
            return copy_of<PreparedPieceCopies>(destination, source, extent, std::move(staging), std::move(prepared));
        }
        case PieceMethod::graph: {
            ISTHMUS_TRY_ASSIGN(prepared, device.prepare_graph(destination, source, extent));
            return copy_of<PreparedPieceCopies>(destination, source, extent, std::move(staging), std::move(prepared));
        }
        case PieceMethod::section: return copy_of<SectionCopy>(destination, source, extent, std::move(staging));
        case PieceMethod::whole: return copy_of<WholeCopy>(destination, source, extent, std::move(staging));
        case PieceMethod::kernel: return copy_of<KernelCopy>(destination, source, extent, std::move(staging));
        case PieceMethod::device_pack: return copy_of<DevicePack>(destination, source, extent, std::move(staging));
        case PieceMethod::pack: return copy_of<PackOnce>(destination, source, extent, std::move(staging));
        case PieceMethod::pack_threads:
        case PieceMethod::pack_kernel:
            return copy_of<PackOnThreads>(destination, source, extent, std::move(staging),
                                          method == PieceMethod::pack_kernel, packing);
    }
    return invalid("no such method");
}

}  // namespace

Result<std::shared_ptr<PieceCopy>> PieceCopy::create(PieceMethod method, const Layout& destination,
                                                     const Layout& source, const Extent& extent,
                                                     std::shared_ptr<Staging> staging,
                                                     std::shared_ptr<const void> owner, const Packing& packing,
                                                     bool checked) {
    if (is_on_device(destination.allocation->kind()) == is_on_device(source.allocation->kind())) {
        return invalid("exactly one side must be device memory");
    }
    if (!checked) {
        ISTHMUS_TRY(check_destination(destination, extent));
        ISTHMUS_TRY(check(source, extent));
    }
    ISTHMUS_TRY(check_method(method, destination, source, extent, *staging, packing.file));
    ISTHMUS_TRY(staging->device().bind_thread());
    ISTHMUS_TRY_ASSIGN(copy, make(method, destination, source, extent, std::move(staging), packing));
    copy->owner_ = std::move(owner);
    return copy;
}

Status PieceCopy::run() {
    ISTHMUS_TRY(staging_->usable());
    Status status = caught([this] { return start(); });
    // Also after a failure: what was enqueued before it still uses the memory.
    Status ended = finish();
    if (status.ok() && ended.ok() && is_complete()) arrived_bytes_ = extent_.bytes();
    return status.ok() ? std::move(ended) : std::move(status);
}

}  // namespace isthmus
