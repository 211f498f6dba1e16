// Pieces that the CPU packs side by side into page-locked memory, or unpacks from there.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

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
        std::size_t slot_offset = 0;

        std::size_t bytes() const { return end - begin; }
    };
    Status send_offsets(Stream& stream);
    // The way to the device: packs, and enqueues the rest. Back: enqueues the way to the host.
    Status begin(Stream& stream, const Part& part);
    // Once the stream is idle: back, unpacks.
    void finish(const Part& part);

    Region table_;

  private:
    Status move_on_device(Stream& stream, const Part& part, bool packs);

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

// Many threads, each with two slots and streams of its own, take chunks from a common counter.
class PackOnThreads final : public PackedCopy {
  public:
    PackOnThreads(const Layout& destination, const Layout& source, const Extent& extent,
                  std::shared_ptr<Staging> staging)
        : PackedCopy(destination, source, extent, std::move(staging)),
          chunk_ends_(chunk_ends(extent.bytes(), staging_->threads())),
          limit_(Staging::limit(extent.bytes(), "packing " + std::to_string(extent.pieces()) + " pieces of " +
                                                    std::to_string(extent.width_bytes) + " bytes")) {}

  protected:
    Status start() override;

  private:
    Status work(std::size_t worker, const std::atomic<bool>& stop);

    const std::vector<std::size_t> chunk_ends_;
    const WorkerGroup::Limit limit_;
    std::atomic<std::size_t> next_chunk_ = 0;
};

}  // namespace isthmus
