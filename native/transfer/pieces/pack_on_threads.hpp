// Threads that pack pieces into page-locked memory, or unpack them, while others cross the link.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "transfer/links/links.hpp"
#include "transfer/pieces/chunks.hpp"
#include "transfer/pieces/packed_copies.hpp"
#include "transfer/pieces/ring_packer.hpp"

namespace isthmus {

// The caller hands chunk by chunk to the driver, alone, since its calls exclude one another; the threads take parts of
// chunks from a common counter. The staging memory's slots are a ring.
class PackOnThreads final : public PackedCopy {
  public:
    PackOnThreads(const Layout& destination, const Layout& source, const Extent& extent,
                  std::shared_ptr<Staging> staging, bool by_kernel, const Packing& packing);

    bool is_complete() const override { return first_ == chunks_.count(); }

  protected:
    Status start() override;
    // start() has waited for everything.
    Status finish() override { return {}; }

  private:
    // Until there are no more parts: each thread waits for the chunk of the one that it has taken.
    Status move_parts(const std::atomic<bool>& stop);
    // What the caller does while it has nothing to send, as when the threads are still waking up: one part, if threads
    // may take one. False where there was none.
    Result<bool> move_one_part();
    Status send_chunks(const std::atomic<bool>& stop);
    Status send_until_all_arrived(const std::atomic<bool>& stop);
    // Whether the host's part is done that comes before a chunk's way: it is packed, or the one whose place it takes is
    // unpacked.
    bool may_send(std::size_t chunk) const;
    Status send(std::size_t chunk);
    Status send_by_own_link(std::size_t chunk);
    // The relay that takes a chunk which is ready; null for the own link.
    Relay* relay_for(std::size_t chunk);
    // Notes what has arrived by other devices. What those lost that failed goes by the own link.
    Status receive_from_relays();
    Status give_up(Relay& relay, const Status& why);
    // Whether the oldest chunk in flight has arrived, in which case its slot is left to the threads.
    Result<bool> receive();
    // Until everything that was sent has ended.
    Status drain();
    // Begins no more chunks where somebody waits for the staging memory and enough was moved.
    void end_for_others();
    // How many chunks have arrived whole, from the first on.
    std::size_t chunks_arrived() const;

    // Keeps this until the process is gone: the device may be at work on it at any time. Takes no memory.
    void outlive_all() noexcept;

    // For a chunk that is in flight, in the place of its number.
    struct OnRelay {
        bool is = false, has_arrived = false;
    };
    OnRelay& on_relay(std::size_t chunk) { return on_relay_[chunk % on_relay_.size()]; }

    const bool by_kernel_;
    const std::size_t threads_;
    const Stores stores_;
    const bool may_clear_pages_;
    const FairMutex* const lane_mutex_;
    const Ring ring_;
    std::optional<Links::Use> links_;  // none where all goes by the own link
    const Chunks chunks_;
    const std::size_t slots_;  // so many chunks are packed, in flight or unpacked at once
    // The slots of the ring, in which chunks to the device have as many slots, and those from it go round all there
    // are.
    const RingPacker::Slots ring_slots_;
    const PackedRun run_;
    std::array<RingPacker::Count, Ring::most_divided_slots> counts_;  // of those at once
    RingPacker packer_;
    const WorkerGroup::Limit limit_;
    std::function<Status()> condition_;         // none once it was met
    std::atomic<std::size_t> open_chunks_ = 0;  // whose parts threads may take: all before this one
    std::atomic<std::size_t> end_ = 0;          // no chunk from this one on is moved in this run
    std::size_t first_ = 0;                     // chunk of this run, or the next
    std::size_t sent_ = 0, arrived_ = 0;        // chunks; the caller's
    std::size_t on_own_link_ = 0;               // of those
    std::array<OnRelay, Ring::most_divided_slots> on_relay_{};
    std::shared_ptr<const void> itself_;  // once it is kept
    PackOnThreads* kept_before_ = nullptr;
};

}  // namespace isthmus
