// One timed case: pieces of equal size that go in one direction, again and again, moved by one method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "experiment/timed.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus::experiment {

// Where the pieces lie in a buffer, as in Layout.
struct PieceSide {
    std::shared_ptr<Buffer> buffer;
    std::size_t offset = 0, pitch_bytes = 0, slice_pitch_bytes = 0;
    std::vector<std::uint64_t> offsets;
};

class PieceTransfer : public Timed {
  public:
    // `reference` is ordinary host memory with the contents of the source's buffer. Where the CPU takes part, the
    // pieces in host memory are evicted from its caches before each transfer, unless they are to be `from_caches`.
    // Without a method the library's own session moves them, as it chooses. Fails as PieceCopy::create.
    static Result<std::unique_ptr<PieceTransfer>> create(std::optional<PieceMethod> method, PieceSide destination,
                                                         PieceSide source, const Extent& extent,
                                                         std::shared_ptr<Buffer> reference,
                                                         std::shared_ptr<Staging> staging, const Packing& packing = {},
                                                         bool from_caches = false);

    // host_seconds from before the first call until all has arrived.
    Result<Samples> run(std::size_t warmups, Quota quota) override;
    // Looks at all that poison() overwrote, from a guard zone before the first piece to one after the last: how many
    // pieces differ from the source's and the first of those, and how many bytes were written outside all pieces.
    Result<std::vector<Mismatch>> verify() override;
    std::size_t bytes_moved() const { return copy_->bytes_moved(); }

  private:
    // What a transfer works on, which threads that are stuck may keep.
    struct Sides {
        PieceSide destination, source;
    };
    PieceTransfer(std::shared_ptr<Sides> sides, const Extent& extent, std::shared_ptr<Buffer> reference);
    Device& device() { return sides_->source.buffer->session().device(); }
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
