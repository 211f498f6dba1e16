// Holds CUDA streams back with words of mapped host memory that the hardware waits for.
//
// NVIDIA warns of cuStreamWaitValue32 that CUDA does not see the order it makes: what opens a latch could be put behind
// what waits for it, in a queue of the hardware that streams share, and neither would ever go on. Here the host opens
// latches, after work on streams of create_unheld_stream() alone. Those have a priority of their own, and streams of
// different priorities share no queue; what such a stream waits for is an event that has passed, never a latch. A
// caller who gives more streams that one priority than there are queues, and holds them all, would undo this.
#include "backend/cuda/latch.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/fork.hpp"

namespace isthmus::cuda {
namespace {

constexpr std::size_t slots = 8192;

class CudaLatch final : public Latch {
  public:
    CudaLatch(std::shared_ptr<LatchWords> words, std::uint32_t& word, std::uint32_t use)
        : words_(std::move(words)), word_(word), use_(use) {}
    ~CudaLatch() override { open(); }
    // Once: when the stream has passed, the word is another latch's.
    void open() noexcept override {
        if (generation_ != fork_generation()) return;  // the words are the parent's
        if (!opened_.exchange(true)) std::atomic_ref(word_).store(use_, std::memory_order_release);
    }

  private:
    std::shared_ptr<LatchWords> words_;
    std::uint32_t& word_;
    std::uint32_t use_;
    const unsigned generation_ = fork_generation();
    std::atomic<bool> opened_ = false;
};

}  // namespace

std::optional<std::string> why_no_latch(const Api& api) {
    if (!api.cuStreamWaitValue32) return api.cuStreamWaitValue32.absent().message();
    if (!api.cuStreamWriteValue32) return api.cuStreamWriteValue32.absent().message();
    return std::nullopt;
}

int unheld_priority(int least, int greatest) {
    // Programs use the ordinary one, those next to it (torch up to three further), and the highest (NCCL).
    constexpr int levels_of_others = 5;
    return least - greatest >= levels_of_others ? greatest + 1 : greatest;
}

Result<std::shared_ptr<LatchWords>> LatchWords::create(const std::shared_ptr<PrimaryContext>& context) {
    // Registered and not got from the driver, as the words of gates are.
    ISTHMUS_TRY_ASSIGN(memory, reserve(context, MemoryKind::registered, slots * sizeof(Pair), nullptr));
    ISTHMUS_TRY(memory->prepare());
    ISTHMUS_TRY(memory->acquire());
    // After a fork, kernels before Linux 5.9 would give the first of both that writes another page than the device has.
    (void)madvise(memory->host(), memory->bytes(), MADV_DONTFORK);
    return std::shared_ptr<LatchWords>(new LatchWords(context, std::move(memory)));
}

LatchWords::LatchWords(std::shared_ptr<PrimaryContext> context, std::unique_ptr<Allocation> memory)
    : context_(std::move(context)), memory_(std::move(memory)), generation_(fork_generation()), uses_(slots) {
    std::memset(memory_->host(), 0, memory_->bytes());
}

LatchWords::~LatchWords() {
    if (generation_ != fork_generation()) {
        static_cast<void>(memory_.release());
        return;
    }
    for (std::size_t slot = 0; slot < slots; ++slot) {
        if (is_free(slot)) continue;
        static_cast<void>(memory_.release());
        return;
    }
}

bool LatchWords::is_free(std::size_t slot) const {
    return std::atomic_ref(pair(slot).passed).load(std::memory_order_acquire) == uses_[slot];
}

Result<std::unique_ptr<Latch>> LatchWords::close(cuda::Stream stream) {
    const std::lock_guard lock(mutex_);
    std::size_t tried = 0;
    while (!is_free(next_)) {
        if (++tried == slots) {
            return Status(Code::out_of_memory, "streams have " + std::to_string(slots) +
                                                   " latches to pass already: wait for some of what was begun");
        }
        next_ = (next_ + 1) % slots;
    }
    const std::size_t slot = std::exchange(next_, (next_ + 1) % slots);
    const std::uint32_t use = uses_[slot] + 1;
    const DevicePointer address = static_cast<const CudaAllocation&>(*memory_).address() + slot * sizeof(Pair);
    const Api& cu = context_->api();
    ISTHMUS_TRY(cu.call(cu.cuStreamWaitValue32, stream, address + offsetof(Pair, opened), use, stream_wait_value_geq));
    uses_[slot] = use;
    // Before what may fail now: the stream waits already.
    auto latch = std::make_unique<CudaLatch>(shared_from_this(), pair(slot).opened, use);
    ISTHMUS_TRY(
        cu.call(cu.cuStreamWriteValue32, stream, address + offsetof(Pair, passed), use, stream_write_value_default));
    return std::unique_ptr<Latch>(std::move(latch));
}

}  // namespace isthmus::cuda
