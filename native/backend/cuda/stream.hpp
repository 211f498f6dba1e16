// Streams and events of the CUDA backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backend/cuda/memory.hpp"
#include "backend/stream.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::cuda {

// The default stream of whichever thread uses it.
constexpr std::uintptr_t thread_default_stream = 2;

class CudaStream final : public isthmus::Stream {
  public:
    enum class Owner { this_object, caller };

    CudaStream(std::shared_ptr<PrimaryContext> context, cuda::Stream stream, Owner owner)
        : context_(std::move(context)), stream_(stream), owner_(owner) {}
    ~CudaStream() override {
        const Api& cu = context_->api();
        if (owner_ == Owner::caller) return;
        if (const Current current(*context_); current.ok()) (void)cu.call(cu.cuStreamDestroy, stream_);
    }
    Status synchronize() override { return context_->api().call(context_->api().cuStreamSynchronize, stream_); }
    Status check_usable() const override;
    std::uintptr_t handle() const override { return reinterpret_cast<std::uintptr_t>(stream_); }
    std::optional<std::uint64_t> identity() const override {
        const Api& cu = context_->api();
        unsigned long long id = 0;
        const bool is_of_thread = handle() == thread_default_stream;
        if (is_of_thread || !cu.call(cu.cuStreamGetId, stream_, &id).ok()) return std::nullopt;
        return id;
    }
    cuda::Stream get() const { return stream_; }
    // Where verify counts: device memory, as atomics on host memory are not atomic everywhere.
    Result<Region> result() {
        if (result_ == nullptr) {
            ISTHMUS_TRY_ASSIGN(memory, reserve(context_, MemoryKind::device, sizeof(VerifyResult), nullptr));
            ISTHMUS_TRY(memory->acquire());
            result_ = std::move(memory);
        }
        return Region{result_.get(), 0, sizeof(VerifyResult)};
    }

  private:
    std::shared_ptr<PrimaryContext> context_;
    cuda::Stream stream_;
    Owner owner_;
    std::unique_ptr<Allocation> result_;
};

class CudaEvent final : public isthmus::Event {
  public:
    CudaEvent(std::shared_ptr<PrimaryContext> context, cuda::Event event)
        : context_(std::move(context)), event_(event) {}
    ~CudaEvent() override {
        const Api& cu = context_->api();
        if (const Current current(*context_); current.ok()) (void)cu.call(cu.cuEventDestroy, event_);
    }
    cuda::Event get() const { return event_; }

  private:
    std::shared_ptr<PrimaryContext> context_;
    cuda::Event event_;
};

// Of a stream and an event of this backend.
inline cuda::Stream raw(isthmus::Stream& stream) {
    return static_cast<CudaStream&>(stream).get();
}
inline cuda::Event raw(isthmus::Event& event) {
    return static_cast<CudaEvent&>(event).get();
}

}  // namespace isthmus::cuda
