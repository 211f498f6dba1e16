// Lets CUDA streams and threads wait for each other, with words of mapped host memory that the hardware reads and
// writes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/memory.hpp"
#include "backend/device.hpp"

namespace isthmus::cuda {

// Why streams of this driver cannot wait for words, or write them; nothing when they can.
std::optional<std::string> why_no_rendezvous(const Api& api);

// The words, pinned once, when no stream waits yet: pinning may wait for all that the device is doing.
//
// A rendezvous has a pair: one that the stream waits for, and one that the stream writes. When it has written the last
// count, the pair is free again. Each use of a pair counts on from where the one before it ended.
class RendezvousWords : public std::enable_shared_from_this<RendezvousWords> {
  public:
    // Precondition: the context is current.
    static Result<std::shared_ptr<RendezvousWords>> create(const std::shared_ptr<PrimaryContext>& context);
    // Leaves the memory where it is, for good, while a stream has yet to read from it: it may be behind something else
    // in a stream of the caller that is busy.
    ~RendezvousWords();
    RendezvousWords(const RendezvousWords&) = delete;
    RendezvousWords& operator=(const RendezvousWords&) = delete;

    // Fails with out_of_memory when streams have thousands of pairs to pass.
    Result<std::unique_ptr<Rendezvous>> take();

    struct Pair {
        std::uint32_t host, stream;
    };
    Pair& pair(std::size_t slot) const { return reinterpret_cast<Pair*>(memory_->host())[slot]; }
    DevicePointer address(std::size_t slot) const {
        return static_cast<const CudaAllocation&>(*memory_).address() + slot * sizeof(Pair);
    }
    const Api& api() const { return context_->api(); }
    // The pair is free when the stream has written `last`; the next use counts on from `end`.
    void leave(std::size_t slot, std::uint32_t last, std::uint32_t end, bool will_be_free);

  private:
    struct Use {
        bool free = true;
        std::uint32_t last = 0, end = 0;
    };
    RendezvousWords(std::shared_ptr<PrimaryContext> context, std::unique_ptr<Allocation> memory);
    bool is_free(std::size_t slot) const;

    std::shared_ptr<PrimaryContext> context_;
    std::unique_ptr<Allocation> memory_;
    const unsigned generation_;  // of the process that has them: a child of it has not
    std::mutex mutex_;           // guards all below
    std::size_t next_ = 0;
    std::vector<Use> uses_;  // of each pair
};

}  // namespace isthmus::cuda
