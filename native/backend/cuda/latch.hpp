// Holds CUDA streams back, for as long as it takes, with words of mapped host memory that the hardware waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/cuda/memory.hpp"

namespace isthmus::cuda {

// Why streams of this driver cannot wait for words; nothing when they can.
std::optional<std::string> why_no_latch(const Api& api);

// The priority of streams that go on whatever others wait for. Greater ones are lower numbers.
int unheld_priority(int least, int greatest);

// The words, pinned once, when no stream waits yet: pinning may wait for all that the device is doing.
//
// A latch has a pair: one that the stream waits for, and one that the stream writes when it has passed, after which the
// pair is free again. Both count the latches that had it.
class LatchWords : public std::enable_shared_from_this<LatchWords> {
  public:
    // Precondition: the context is current.
    static Result<std::shared_ptr<LatchWords>> create(const std::shared_ptr<PrimaryContext>& context);
    // Leaves the memory where it is, for good, while a stream has yet to read from it: it may be behind an opened latch
    // in a stream of the caller that is busy with something else.
    ~LatchWords();
    LatchWords(const LatchWords&) = delete;
    LatchWords& operator=(const LatchWords&) = delete;

    // Precondition: the context is current. Fails with out_of_memory when streams have thousands of latches to pass.
    Result<std::unique_ptr<Latch>> close(cuda::Stream stream);

  private:
    struct Pair {
        std::uint32_t opened, passed;
    };
    LatchWords(std::shared_ptr<PrimaryContext> context, std::unique_ptr<Allocation> memory);
    Pair& pair(std::size_t slot) const { return reinterpret_cast<Pair*>(memory_->host())[slot]; }
    bool is_free(std::size_t slot) const;

    std::shared_ptr<PrimaryContext> context_;
    std::unique_ptr<Allocation> memory_;
    const unsigned generation_;  // of the process that has them: a child of it has not
    std::mutex mutex_;           // guards all below
    std::size_t next_ = 0;
    std::vector<std::uint32_t> uses_;  // of each pair
};

}  // namespace isthmus::cuda
