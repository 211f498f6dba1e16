// One timed case: memory of one kind and size that is allocated, used for the first time and given back, again and
// again.
#pragma once

#include <memory>
#include <vector>

#include "experiment/timed.hpp"

namespace isthmus::experiment {

class AllocationCase : public Timed {
  public:
    // Fails with unsupported where the device cannot have memory of this kind.
    // With `beside`, a small block of the same kind is held all the while: drivers carve small blocks out of a larger
    // one, which they give back with the last of them.
    static Result<std::unique_ptr<AllocationCase>> create(std::shared_ptr<OpenDevice> session, MemoryKind kind,
                                                          std::size_t bytes, bool beside);

    // Seconds per call: allocate, touch (empty where memory is there once it was allocated) and free. A sample is one
    // block; of calls shorter than ten microseconds it is the mean over up to 64 blocks held at once, since the clock
    // itself takes as long as the shortest of them. What the clock takes is subtracted. Fails as Allocation::acquire
    // does, with nothing held.
    Result<Samples> run(std::size_t warmups, Quota quota) override;
    // The shape of 2-D memory, once it was held.
    Shape shape() const { return shape_; }

  private:
    AllocationCase(std::shared_ptr<OpenDevice> session, MemoryKind kind, std::size_t bytes, bool beside);
    Device& device() { return session_->device(); }
    Result<Samples> run_blocks(std::size_t warmups, Quota quota);
    Status sample(Samples& samples);
    Status choose_batch(Samples& tried);
    Status acquire_all();
    Status release_all();
    Status touch_all();
    Status add_blocks(std::size_t count);

    std::shared_ptr<OpenDevice> session_;
    MemoryKind kind_;
    std::size_t bytes_;
    bool beside_;
    std::size_t batch_ = 0;                            // blocks held at once; 0 until it is known
    std::vector<std::unique_ptr<Allocation>> blocks_;  // while it runs
    std::size_t held_ = 0;                             // so many of the blocks, from the first on
    Shape shape_;
};

}  // namespace isthmus::experiment
