// The host's part of a copy through a ring, waited for or held: threads take parts of chunks from a common counter and
// move them between the host's memory and the ring.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "base/cache.hpp"
#include "base/fault_ahead.hpp"
#include "transfer/pieces/chunks.hpp"
#include "transfer/pieces/packed_copies.hpp"

namespace isthmus {

// Pieces that are cut into chunks of their own, which follow those of the run before.
struct PackedRun {
    const PackedPieces* pieces = nullptr;
    Chunks chunks;
    std::size_t first_chunk = 0, first_part = 0;  // counted over all runs
};

// A caller that drives the copy says which chunks are open: those whose slots are the host's now. It must not open a
// chunk before it is expected, nor expect another one in the same count before its parts were moved.
class RingPacker {
  public:
    // Where the ring is in page-locked memory.
    struct Slots {
        Allocation* memory = nullptr;
        std::size_t begins_at = 0, slot_bytes = 0, count = 1;
        std::size_t first = 0;  // the slot of the first chunk
    };
    // How many parts of a chunk threads have yet to move; on a cache line of its own.
    struct alignas(cache_line) Count {
        std::atomic<std::size_t> left = 0;
    };
    // A part that exactly one thread has taken: counted within its run, and its chunk over all runs.
    struct Taken {
        const PackedRun* run = nullptr;
        std::size_t part = 0, chunk = 0;
    };

    // There is at least one run. What `runs` and `counts` refer to outlives the packer. Chunks share counts where there
    // are fewer of these: one for each slot, say.
    RingPacker(std::span<const PackedRun> runs, std::span<Count> counts, const Slots& slots, Stores stores,
               std::size_t threads)
        : runs_(runs),
          counts_(counts),
          slots_(slots),
          stores_(stores),
          threads_(threads),
          parts_(runs.back().first_part + runs.back().chunks.parts()) {}

    std::size_t parts() const { return parts_; }
    // Where bytes of a run's chunk are in the ring.
    Part staged(const PackedRun& run, std::size_t chunk, Chunks::Range range) const;
    Part staged(const PackedRun& run, std::size_t chunk) const { return staged(run, chunk, run.chunks.chunk(chunk)); }

    // The next part to be taken is this one. No thread is at work.
    void begin_at(std::size_t part) { next_part_ = part; }
    // Begins to have pages put in place ahead, where the only run writes to memory that may never have been touched.
    void begin_faults() { runs_.front().pieces->fault_ahead(faults_); }
    // Counts the parts of a run's chunk that are to be moved.
    void expect(const PackedRun& run, std::size_t chunk);
    // Whether all parts of the chunk that was expected last in this one's count were moved.
    bool is_moved(std::size_t chunk) const { return counts_[chunk % counts_.size()].left == 0; }

    // For threads. The next part, for which its taker may have to wait; none when all were taken.
    std::optional<Taken> take();
    // Whether it was the last one of its chunk. Fails where it is read from a file and cannot be: its chunk is never
    // moved then.
    Result<bool> move(const Taken& taken);
    // `part`: moved one that was not the last of its chunk, or another thread got it.
    enum class Moved { nothing, part, chunk };
    // Takes and moves the next part, if its chunk is before `open_chunks` and itself before `end`. Never waits, but for
    // a file. Fails as move() does.
    Result<Moved> move_one(std::size_t open_chunks, std::size_t end);
    // Puts pages in place ahead of a part, or of the next one; whether there were any.
    bool fault_ahead(const Taken& taken) { return faults_.take(end_of(taken)); }
    bool fault_ahead() { return faults_.take(end_of(at(std::min<std::size_t>(next_part_, parts_ - 1)))); }
    std::size_t next_part() const { return next_part_; }
    // Which one a part of any run is.
    Taken at(std::size_t part) const;

  private:
    std::size_t end_of(const Taken& taken) const {
        return taken.run->chunks.part(taken.part).end + threads_ * FaultAhead::bytes_ahead;
    }

    const std::span<const PackedRun> runs_;
    const std::span<Count> counts_;
    const Slots slots_;
    const Stores stores_;
    const std::size_t threads_, parts_;
    // On a cache line apart from what all threads read.
    alignas(cache_line) std::atomic<std::size_t> next_part_ = 0;
    FaultAhead faults_;
};

}  // namespace isthmus
