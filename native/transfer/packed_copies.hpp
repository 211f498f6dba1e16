// Pieces that the CPU packs side by side into page-locked memory, or unpacks from there.
#pragma once

#include <cstddef>
#include <memory>

#include "transfer/pack.hpp"
#include "transfer/piece_copy.hpp"

namespace isthmus {

class PackedCopy : public PieceCopy {
  public:
    static Status check(const Layout& host_side, const Extent& extent);

  protected:
    PackedCopy(const Layout& destination, const Layout& source, const Extent& extent, std::shared_ptr<Staging> staging);

    // Bytes of the pieces as they lie side by side, and where they are in the staging memory.
    struct Part {
        std::size_t begin = 0, end = 0;
        std::size_t staged_at = 0;

        std::size_t bytes() const { return end - begin; }
    };
    Status send_offsets(Stream& stream);
    // Between the host's side and the staging memory: packs, or unpacks.
    void move_on_host(const Part& part, Stores stores);
    // Where a part goes on: the streams of its copy and of its kernel, which may be one, and what the second waits for.
    struct Route {
        Stream& copies;
        Stream& kernels;
        Event* halfway = nullptr;  // null where it is one stream
    };
    // Enqueues the way between the staging memory and the device's side: a copy, and a kernel before or after it where
    // the pieces lie apart there; or just a kernel.
    Status enqueue_copy(const Route& route, const Part& part);
    // The stream on which that ends.
    Stream& last(const Route& route) const;
    Status enqueue_kernel(Stream& stream, const Part& part);

  private:
    // What is enqueued on the second stream from now on begins after what the first one holds.
    Status pass_on(Stream& first, Stream& second, Event* halfway);
    // By a kernel, from or to where they lie side by side.
    Status move_pieces(Stream& stream, const Part& part, Allocation& packed);

    Region table_;
    std::size_t unit_bytes_;
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
