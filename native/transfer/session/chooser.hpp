// Chooses how a copy is made, by the session's table and with the memory and threads that it has, and says why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/kernel_blocks.hpp"
#include "transfer/links/links.hpp"
#include "transfer/session/copy_job.hpp"
#include "transfer/session/session.hpp"
#include "transfer/staging/staging_lane.hpp"

namespace isthmus {

// A large copy of memory that the device reaches is cut into parts, so that those of others get between: 0.15 ms each
// on a link of 55 GB/s.
inline constexpr std::size_t part_bytes = std::size_t{8} << 20;

// How a large copy is cut: not at all; so that others' copies get between; and for several links at once.
enum class Cut { none, parts, links };
Cut cut_of(const Choice& choice, const Ends& ends);

// May be used by any number of threads at once. What it is given outlives it.
class Chooser {
  public:
    Chooser(Device& device, const SessionOptions& options, const TransferTable& table, std::size_t threads,
            const KernelBlocks& blocks, const std::array<StagingLane, 2>& lanes, std::array<Links, 2>& links)
        : device_(device),
          options_(options),
          table_(table),
          threads_(threads),
          blocks_(blocks),
          lanes_(lanes),
          links_(links) {}

    Choice choose(const CopyJob& job);
    Choice choose_buffer(const Ends& ends, std::size_t bytes) const;
    // How pieces like these go, which are not repeated.
    Choice choose_pieces(const PieceRule& asked, const Ends& ends);
    Packing packing(bool to_device, std::size_t threads) const;
    // For kernels that move pieces from one layout to the other: copies within the device may fill it.
    KernelBlocks blocks_between(const Layout& destination, const Layout& source) const;

    Explanation explain(const CopyJob& job);
    // How the job with the most bytes goes, with the sums of all. `parts`: what they are, "sizes".
    Explanation explain(const std::vector<std::shared_ptr<CopyJob>>& jobs, const char* parts);

  private:
    // Whatever was done with the memory before.
    Choice choose_method(const CopyJob& job);
    Choice choose_pieces(const CopyJob& job);
    // Which rule of the table is nearest, null for none, and what it makes of these pieces: both take long to find out
    // and are often asked again.
    struct Nearest {
        PieceRule asked;
        const PieceRule* rule = nullptr;
        double seconds = 0;
    };
    Nearest nearest(const PieceRule& asked);
    std::uint32_t explained_blocks(const CopyJob& job, const Choice& choice) const;
    void explain_links(const CopyJob& job, const Choice& choice, Explanation& explanation);
    const StagingLane& lane(bool to_device) const { return lanes_[to_device ? 0 : 1]; }
    bool has_own_link_alone() const { return links_[0].is_own(); }

    Device& device_;
    const SessionOptions& options_;
    const TransferTable& table_;
    const std::size_t threads_;
    const KernelBlocks blocks_;
    const std::array<StagingLane, 2>& lanes_;
    std::array<Links, 2>& links_;  // by direction, as the lanes
    std::mutex recent_mutex_;      // guards what follows
    std::vector<Nearest> recent_;
};

}  // namespace isthmus
