// One timed case: pieces of equal size that go in one direction, again and again, moved by one method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "experiment/buffer.hpp"
#include "experiment/quota.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus::experiment {

// Where the pieces lie in a buffer, as in Layout.
struct PieceSide {
    std::shared_ptr<Buffer> buffer;
    std::size_t offset = 0, pitch_bytes = 0, slice_pitch_bytes = 0;
    std::vector<std::uint64_t> offsets;
};

// What did not arrive as it should.
struct PieceMismatch {
    std::size_t pieces = 0;         // that differ from the source's
    std::size_t first_piece = 0;    // of those
    std::size_t bytes_outside = 0;  // that were written outside all pieces
};

class PieceTransfer {
  public:
    PieceTransfer(const PieceTransfer&) = delete;
    PieceTransfer& operator=(const PieceTransfer&) = delete;

    // `reference` is ordinary host memory with the contents of the source's buffer. Where the CPU takes part, the
    // pieces in host memory are evicted from its caches before each transfer, unless they are to be `from_caches`.
    // Without a method the library's own session moves them, as it chooses. Fails as PieceCopy::create.
    static Result<std::unique_ptr<PieceTransfer>> create(std::optional<PieceMethod> method, PieceSide destination,
                                                         PieceSide source, const Extent& extent,
                                                         std::shared_ptr<Buffer> reference,
                                                         std::shared_ptr<Staging> staging, const Packing& packing = {},
                                                         bool from_caches = false);

    // Overwrites the destination from a guard zone before its first piece to one after its last.
    Status poison();
    // `warmups` transfers that are not kept, then samples: seconds from before the first call until all has arrived.
    Result<std::vector<double>> run(std::size_t warmups, Quota quota);
    // Looks at all that poison() overwrote.
    Result<PieceMismatch> verify();
    std::size_t bytes_moved() const { return copy_->bytes_moved(); }

  private:
    // What a transfer works on, which threads that are stuck may keep.
    struct Sides {
        PieceSide destination, source;
    };
    PieceTransfer(std::shared_ptr<Sides> sides, const Extent& extent, std::shared_ptr<Buffer> reference);
    Device& device() { return sides_->source.buffer->session().device(); }
    Result<Region> guarded();
    Status read(const Region& region, std::byte* to);
    Status copy();
    Status evict();
    bool cpu_copies(std::optional<PieceMethod> method);

    std::shared_ptr<Sides> sides_;
    Extent extent_;
    Layout destination_, source_;
    std::shared_ptr<Buffer> reference_;
    std::shared_ptr<Staging> staging_;
    OpenDevice::Scratch scratch_;  // held for the next check
    std::shared_ptr<PieceCopy> copy_;
    bool fills_gaps_ = false;  // what is between the pieces is moved too
    bool evicts_ = false;
};

}  // namespace isthmus::experiment
