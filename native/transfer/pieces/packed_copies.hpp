// Pieces that the CPU packs side by side into page-locked memory, or unpacks from there.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "backend/kernel_blocks.hpp"
#include "base/fault_ahead.hpp"
#include "transfer/pieces/file_bytes.hpp"
#include "transfer/pieces/pack.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {

// Whether pieces of this width are worth a copy of their own, which the driver makes at the rate of the link.
constexpr bool are_long_pieces(std::size_t width_bytes) {
    return width_bytes >= std::size_t{4} << 20;
}

// Whether a kernel has to gather or spread them on the device's side.
inline bool needs_kernel(const Layout& device_side, const Extent& extent) {
    return !are_long_pieces(extent.width_bytes) && !device_side.is_contiguous(extent);
}

// Whether what arrives from the device fills pageable memory from its beginning to its end, most of which was never
// touched.
bool fills_untouched(const Layout& destination, const Extent& extent);

// Bytes of the pieces as they lie side by side, and where they are in the staging memory.
struct Part {
    std::size_t begin = 0, end = 0;
    std::size_t staged_at = 0;

    std::size_t bytes() const { return end - begin; }
};

// What they are packed into.
struct PackedInto {
    Allocation* host = nullptr;       // page-locked
    Allocation* on_device = nullptr;  // as large; for what a kernel gathers or spreads there next to the link
    Region table;                     // that copy_pieces is given
    KernelBlocks blocks;
};

// The two halves of their way: the host's, and the device's, which is enqueued.
class PackedPieces {
  public:
    // With a file the source is its bytes, side by side, and what `source` is in is `file`. `checks_memory` as
    // Packing has it.
    PackedPieces(const Layout& destination, const Layout& source, const Extent& extent, const FileBytes* file = nullptr,
                 bool checks_memory = false);

    // Packs, or unpacks; `packed` is page-locked. Only reading a file can fail, and memory that is checked.
    Status move_on_host(const Part& part, Allocation& packed, Stores stores) const;
    // Begins where they fill untouched memory.
    void fault_ahead(FaultAhead& faults) const;
    // Where a part goes on: the streams of its copy and of its kernel, which may be one, and what the second waits for.
    struct Route {
        Stream& copies;
        Stream& kernels;
        Event* halfway = nullptr;  // null where it is one stream
    };
    // A copy, or one of each long piece, and a kernel before or after it where short ones lie apart on the device; or
    // just a kernel.
    Status enqueue_copy(Device& device, const Route& route, const Part& part, const PackedInto& into) const;
    // The stream on which that ends.
    Stream& last(const Route& route) const;
    Status enqueue_kernel(Device& device, Stream& stream, const Part& part, const PackedInto& into) const;

    const Extent& extent() const { return extent_; }
    bool to_device() const { return is_on_device(destination_.allocation->kind()); }
    bool needs_kernel() const { return isthmus::needs_kernel(device_side(), extent_); }
    // Where a part is on the device. Precondition: it is one range there.
    Region on_device(const Part& part) const;
    bool is_one_range(const Part& part) const { return part.end <= end_of_range(part.begin); }
    const Layout& host_side() const { return to_device() ? source_ : destination_; }
    const Layout& device_side() const { return to_device() ? destination_ : source_; }

  private:
    // Up to where the device's side is one range from a byte on.
    std::size_t end_of_range(std::size_t begin) const;
    // A copy for each range on the device that a part goes to or comes from.
    Status copy_ranges(Device& device, Stream& stream, const Part& part, Allocation& packed) const;
    // By a kernel, from or to where they lie side by side.
    Status move_pieces(Device& device, Stream& stream, const Part& part, const PackedInto& into,
                       Allocation& packed) const;

    Layout destination_, source_;
    Extent extent_;
    const FileBytes* file_;
    bool checks_memory_;
    std::size_t unit_bytes_;
};

// A copy engine reads what is in memory faster; what kernels read may stay in the caches, and so may what arrives, as
// long as it does not drive out everything else.
Stores suitable_stores(bool to_device, bool by_kernel, std::size_t bytes);

class PackedCopy : public PieceCopy {
  public:
    static Status check(const Layout& host_side, const Extent& extent);

  protected:
    PackedCopy(const Layout& destination, const Layout& source, const Extent& extent, std::shared_ptr<Staging> staging,
               const FileBytes* file = nullptr, bool checks_memory = false)
        : PieceCopy(destination, source, extent, std::move(staging)),
          pieces_(destination, source, extent, file, checks_memory) {}

    // Where a kernel follows them, over the link or next to it.
    Status send_offsets(Stream& stream, bool by_kernel);
    bool has_sent_offsets() const { return table_.bytes != 0; }
    const PackedPieces& pieces() const { return pieces_; }
    using Route = PackedPieces::Route;
    // By threads, too, while the caller sends the offsets.
    Status move_on_host(const Part& part, Stores stores) {
        return pieces_.move_on_host(part, staging_->host(), stores);
    }
    Status enqueue_copy(const Route& route, const Part& part) {
        return pieces_.enqueue_copy(device(), route, part, into());
    }
    Stream& last(const Route& route) const { return pieces_.last(route); }
    Status enqueue_kernel(Stream& stream, const Part& part) {
        return pieces_.enqueue_kernel(device(), stream, part, into());
    }

  private:
    PackedInto into() { return {&staging_->host(), staging_->on_device(), table_, staging_->kernel_blocks()}; }

    const PackedPieces pieces_;
    Region table_;
};

// One thread, one copy.
class PackOnce final : public PackedCopy {
  public:
    PackOnce(const Layout& destination, const Layout& source, const Extent& extent, std::shared_ptr<Staging> staging)
        : PackedCopy(destination, source, extent, std::move(staging)) {}

  protected:
    Status start() override;
};

}  // namespace isthmus
