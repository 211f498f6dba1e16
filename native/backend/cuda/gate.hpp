// Holds CUDA streams back with a kernel that spins on a word of mapped host memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "backend/cuda/memory.hpp"
#include "base/device_order.hpp"
#include "base/fork.hpp"

namespace isthmus::cuda {

// The words that gates use, pinned once: pinning memory for each gate would cost more than most copies.
class GateWords {
  public:
    // Precondition: the context is current.
    static Result<std::shared_ptr<GateWords>> create(const std::shared_ptr<PrimaryContext>& context);

    struct Slot {
        std::atomic_ref<std::uint32_t> flag;
        DevicePointer flag_address;
        DevicePointer timed_out_address;
        std::atomic_ref<std::uint32_t> timed_out;
    };
    // A closed slot. Slots are handed out in turn, so one is used again only after a thousand others: long after the
    // kernels that watched it have ended.
    Slot next();

  private:
    explicit GateWords(std::unique_ptr<Allocation> memory) : memory_(std::move(memory)) {}
    std::unique_ptr<Allocation> memory_;
    std::atomic<std::size_t> next_ = 0;
};

class CudaGate final : public Gate {
  public:
    CudaGate(std::shared_ptr<GateWords> words, GateWords::Slot slot) : words_(std::move(words)), slot_(slot) {}
    ~CudaGate() override { static_cast<void>(open()); }
    Status open() override {
        if (generation_ != fork_generation()) return {};  // the words are the parent's
        order_before_device_reads();
        slot_.flag.store(1, std::memory_order_release);
        return {};
    }

    bool gave_up() const override { return slot_.timed_out.load(std::memory_order_acquire) != 0; }

  private:
    std::shared_ptr<GateWords> words_;
    GateWords::Slot slot_;
    const unsigned generation_ = fork_generation();
};

}  // namespace isthmus::cuda
