// Lets CUDA streams and threads wait for each other, with words of mapped host memory that the hardware reads and
// writes.
//
// NVIDIA warns of cuStreamWaitValue32 that CUDA does not see the order it makes: what lets a stream go on could be put
// behind what waits for it, in a queue of the hardware that streams share, or behind a lock that the driver keeps while
// it waits for that stream (cuMemFree does), and neither would ever go on. So whoever lets a stream go on here is a
// thread that only writes a word.
//
// What other streams do meanwhile is up to the queues of the hardware that they share. On an H200 (driver 580) most
// went on beside one that had copies behind its wait, and all beside four that had none. Beside two that had some 12 of
// 32 did, beside three one, beside four none, whatever the priorities. With CUDA_DEVICE_MAX_CONNECTIONS=32 instead of
// 8, all did beside 16. The driver reads it when it starts, so that it is for the program's user to set.
#include "backend/cuda/rendezvous.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "backend/cuda/stream.hpp"
#include "base/device_order.hpp"
#include "base/fork.hpp"

namespace isthmus::cuda {
namespace {

constexpr std::size_t slots = 8192;

bool is_before(std::uint32_t one, std::uint32_t other) {
    return static_cast<std::int32_t>(one - other) < 0;
}

class CudaRendezvous final : public Rendezvous {
  public:
    CudaRendezvous(std::shared_ptr<RendezvousWords> words, std::size_t slot, std::uint32_t begin)
        : words_(std::move(words)), slot_(slot), begin_(begin) {}
    ~CudaRendezvous() override {
        if (generation_ != fork_generation()) return;  // the words are the parent's
        open(awaited_);
        words_->leave(slot_, begin_ + told_, begin_ + std::max({awaited_, told_, opened_.load()}), ends_told_);
    }

    Status wait_for_host(isthmus::Stream& stream, std::uint32_t count) override {
        const Api& cu = words_->api();
        ISTHMUS_TRY(cu.call(cu.cuStreamWaitValue32, raw(stream),
                            words_->address(slot_) + offsetof(RendezvousWords::Pair, host), begin_ + count,
                            stream_wait_value_geq));
        awaited_ = count;
        ends_told_ = false;
        return {};
    }
    Status tell_host(isthmus::Stream& stream, std::uint32_t count) override {
        const Api& cu = words_->api();
        ISTHMUS_TRY(cu.call(cu.cuStreamWriteValue32, raw(stream),
                            words_->address(slot_) + offsetof(RendezvousWords::Pair, stream), begin_ + count,
                            stream_write_value_default));
        told_ = count;
        ends_told_ = true;
        return {};
    }
    void open(std::uint32_t count) noexcept override {
        if (generation_ != fork_generation()) return;
        std::uint32_t before = opened_;
        while (before < count && !opened_.compare_exchange_weak(before, count)) {
        }
        const std::atomic_ref word(words_->pair(slot_).host);
        order_before_device_reads();
        std::uint32_t now = word.load();
        while (is_before(now, begin_ + count) && !word.compare_exchange_weak(now, begin_ + count)) {
        }
    }
    std::uint32_t reached() noexcept override {
        if (generation_ != fork_generation()) return 0;
        const std::uint32_t now = std::atomic_ref(words_->pair(slot_).stream).load(std::memory_order_acquire);
        order_after_device_writes();
        return is_before(now, begin_) ? 0 : now - begin_;
    }
    void settle() noexcept override {
        if (generation_ != fork_generation()) return;
        std::atomic_ref(words_->pair(slot_).stream).store(begin_ + told_);
        ends_told_ = true;
    }

  private:
    const std::shared_ptr<RendezvousWords> words_;
    const std::size_t slot_;
    const std::uint32_t begin_;
    const unsigned generation_ = fork_generation();
    std::uint32_t awaited_ = 0, told_ = 0;
    bool ends_told_ = true;  // whether the stream was given nothing after what it told last
    std::atomic<std::uint32_t> opened_ = 0;
};

}  // namespace

std::optional<std::string> why_no_rendezvous(const Api& api) {
    if (!api.cuStreamWaitValue32) return api.cuStreamWaitValue32.absent().message();
    if (!api.cuStreamWriteValue32) return api.cuStreamWriteValue32.absent().message();
    return std::nullopt;
}

Result<std::shared_ptr<RendezvousWords>> RendezvousWords::create(const std::shared_ptr<PrimaryContext>& context) {
    // Registered and not got from the driver, as the words of gates are.
    ISTHMUS_TRY_ASSIGN(memory, reserve(context, MemoryKind::registered, slots * sizeof(Pair), nullptr));
    ISTHMUS_TRY(memory->prepare());
    ISTHMUS_TRY(memory->acquire());
    // After a fork, kernels before Linux 5.9 would give the first of both that writes another page than the device has.
    (void)madvise(memory->host(), memory->bytes(), MADV_DONTFORK);
    return std::shared_ptr<RendezvousWords>(new RendezvousWords(context, std::move(memory)));
}

RendezvousWords::RendezvousWords(std::shared_ptr<PrimaryContext> context, std::unique_ptr<Allocation> memory)
    : context_(std::move(context)), memory_(std::move(memory)), generation_(fork_generation()), uses_(slots) {
    std::memset(memory_->host(), 0, memory_->bytes());
}

RendezvousWords::~RendezvousWords() {
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

bool RendezvousWords::is_free(std::size_t slot) const {
    return uses_[slot].free && std::atomic_ref(pair(slot).stream).load(std::memory_order_acquire) == uses_[slot].last;
}

Result<std::unique_ptr<Rendezvous>> RendezvousWords::take() {
    const std::lock_guard lock(mutex_);
    std::size_t tried = 0;
    while (!is_free(next_)) {
        if (++tried == slots) {
            return Status(Code::out_of_memory, "streams have " + std::to_string(slots) +
                                                   " places to pass where they wait for the host already: wait for "
                                                   "some of what was begun");
        }
        next_ = (next_ + 1) % slots;
    }
    const std::size_t slot = std::exchange(next_, (next_ + 1) % slots);
    uses_[slot].free = false;
    const std::uint32_t begin = uses_[slot].end;
    // No stream uses the pair, so that it may be brought to where it is counted from.
    std::atomic_ref(pair(slot).stream).store(begin);
    return std::unique_ptr<Rendezvous>(std::make_unique<CudaRendezvous>(shared_from_this(), slot, begin));
}

void RendezvousWords::leave(std::size_t slot, std::uint32_t last, std::uint32_t end, bool will_be_free) {
    const std::lock_guard lock(mutex_);
    uses_[slot] = {will_be_free, last, end};
}

}  // namespace isthmus::cuda
