// Copies of CUDA programs.
#include "accelerator/cuda_request.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "accelerator/accelerator.hpp"
#include "accelerator/places.hpp"
#include "accelerator/staging.hpp"
#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/pages.hpp"
#include "transfer/session/ends.hpp"

namespace isthmus::accelerator {
namespace {

// Up to so much of pageable memory the driver takes for a copy to the device without waiting for the stream.
constexpr std::size_t most_taken_bytes = std::size_t{2} << 20;
// Smaller copies of page-locked memory take one link no longer than the driver takes to be told of several.
constexpr std::size_t least_divided_bytes = std::size_t{16} << 20;

// The driver that the program uses, and the sessions in its contexts.
class Cuda {
  public:
    // Never destroyed: the program may copy to the end.
    static Cuda& of_process(const Options& options) {
        static Cuda& one = *new Cuda(options);
        return one;
    }
    const cuda::Api& api() const { return api_; }
    // As Places::current.
    Result<std::shared_ptr<Session>> session() {
        if (!failure_.ok()) return failure_.copy();
        return places_.current();
    }
    void forget(const std::shared_ptr<Session>& session) { places_.forget(session); }

  private:
    explicit Cuda(const Options& options) : places_(api_, options) {
        auto opened = cuda::Api::open();
        if (opened.ok()) {
            api_ = opened.value();
        } else {
            failure_ = opened.take_status();
        }
    }

    cuda::Api api_;
    Places places_;
    Status failure_;
};

class CudaRequest final : public Request {
  public:
    CudaRequest(const Copy& copy, const Plain& plain)
        : Request(copy.site, copy.bytes, copy.in_one_piece()), copy_(copy), plain_(plain) {}

    cuda::ReturnCode by_driver(std::size_t begin, std::size_t bytes) override { return plain_(begin, bytes); }
    std::optional<Reason> why_not(const Options& options, Ledger& ledger) override;
    bool to_device() const override { return *copy_.to_device; }
    Status wait() override;
    Status check_whole() override;
    Outcome by_library(std::size_t begin) override;
    void failed() override;
    bool is_queued() const override { return is_pinned() && copy_.is_asynchronous; }
    bool divides() override { return session_->divides(*copy_.to_device, copy_.bytes); }
    Result<bool> queue() override;
    Result<bool> same_by_driver() override;

  private:
    const cuda::Api& api() const { return cuda_->api(); }
    // Finds out the direction.
    std::optional<Reason> why_not(const Options& options);
    // Whether the driver's own copy is fastest for the size, in whatever direction it may be.
    bool is_small() const;
    bool is_capturing() const;
    bool is_busy() const;
    bool may_divide() const;
    // Of memory of the host that is page-locked where it begins: whether other devices may copy it, too, and the other
    // side is the device's own.
    bool is_reached_by_all(const KnownMemory& first) const;
    BatchPiece piece(std::size_t begin) const;
    Sides sides() const;

    Copy copy_;
    const Plain& plain_;
    Cuda* cuda_ = nullptr;
    std::shared_ptr<Session> session_;
};

bool CudaRequest::is_capturing() const {
    if (!api().cuStreamIsCapturing) return false;
    int state = cuda::stream_capture_status_none;
    // Of the default stream it fails where another stream that waits for it is recorded.
    auto* const handle = reinterpret_cast<cuda::Stream>(copy_.stream);  // NOLINT(performance-no-int-to-ptr)
    return api().cuStreamIsCapturing(handle, &state) != cuda::success || state != cuda::stream_capture_status_none;
}

bool CudaRequest::is_busy() const {
    auto* const handle = reinterpret_cast<cuda::Stream>(copy_.stream);  // NOLINT(performance-no-int-to-ptr)
    return api().cuStreamQuery && api().cuStreamQuery(handle) == cuda::error_not_ready;
}

std::optional<Reason> CudaRequest::why_not(const Options& options, Ledger& ledger) {
    cuda_ = &Cuda::of_process(options);
    auto found = cuda_->session();
    if (!found.ok()) {
        ledger.keep(found.take_status().message());
        return Reason::off;
    }
    session_ = std::move(found.value());
    return session_ == nullptr ? Reason::other_context : why_not(options);
}

bool CudaRequest::is_small() const {
    if (!copy_.in_one_piece()) return false;
    const auto is_ours = [&](bool to_device) {
        return session_->table().buffer(to_device, copy_.bytes).method == BufferMethod::staged;
    };
    return copy_.to_device ? !is_ours(*copy_.to_device) : !is_ours(true) && !is_ours(false);
}

bool CudaRequest::may_divide() const {
    return !session_->has_own_way_alone() && copy_.in_one_piece() && copy_.bytes >= least_divided_bytes;
}

bool CudaRequest::is_reached_by_all(const KnownMemory& first) const {
    const std::uintptr_t host = *copy_.to_device ? copy_.source : copy_.destination;
    // The driver refuses what begins in one block and ends in another.
    if (first.begin < first.end && copy_.bytes > first.end - host) return false;
    Device& device = session_->device();
    auto last = device.identify(host + (copy_.bytes - 1));
    if (!last.ok() || last.value().kind != MemoryKind::pinned) return false;
    auto there = device.identify(*copy_.to_device ? copy_.destination : copy_.source);
    return there.ok() && there.value().kind == MemoryKind::device && there.value().device == device.info().index &&
           !PinnedMemory::of_process().is_of_one_context(host);
}

std::optional<Reason> CudaRequest::why_not(const Options& options) {
    // First what needs no call of the driver's, and that once more when the direction is known.
    const bool is_left = !options.eager && !may_divide();
    if (is_left && is_small()) return Reason::small;
    if (is_capturing()) return Reason::capturing;
    Device& device = session_->device();
    if (!copy_.to_device) {
        auto to = device.identify(copy_.destination);
        auto from = device.identify(copy_.source);
        if (!to.ok() || !from.ok()) return Reason::not_pageable;
        const bool to_device = to.value().kind == MemoryKind::device;
        if (to_device == (from.value().kind == MemoryKind::device)) return Reason::not_pageable;
        copy_.to_device = to_device;
        if (is_left && is_small()) return Reason::small;
    }
    const std::uintptr_t host = *copy_.to_device ? copy_.source : copy_.destination;
    const std::size_t span = copy_.span_bytes(*copy_.to_device);
    for (const std::uintptr_t address : {host, host + (span - 1)}) {
        auto known = device.identify(address);
        if (known.ok() && known.value().kind == MemoryKind::pageable) continue;
        is_pinned_ = address == host && known.ok() && known.value().kind == MemoryKind::pinned && may_divide() &&
                     is_reached_by_all(known.value());
        return is_pinned_ ? std::nullopt : std::optional(Reason::not_pageable);
    }
    if (!options.eager && is_small()) return Reason::small;
    if (!is_mapped(host, span)) return Reason::unmapped;
    const bool is_taken = copy_.is_asynchronous && *copy_.to_device && copy_.bytes <= most_taken_bytes;
    if (is_taken && is_busy()) return Reason::busy;
    return std::nullopt;
}

Outcome CudaRequest::by_library(std::size_t begin) {
    if (copy_.batch != nullptr) return session_->copy_batch(*copy_.batch, {}, copy_.stream);
    if (copy_.rows_to != nullptr) {
        copy_.rows_to->side = sides().destination;
        copy_.rows_from->side = sides().source;
        return session_->copy(*copy_.rows_to, *copy_.rows_from, copy_.stream);
    }
    return session_->copy_bytes(piece(begin), sides(), copy_.stream);
}

Result<bool> CudaRequest::queue() {
    return session_->enqueue_divided(piece(0), sides(), copy_.stream);
}

BatchPiece CudaRequest::piece(std::size_t begin) const {
    BatchPiece piece;
    piece.destination = copy_.destination + begin;
    piece.source = copy_.source + begin;
    piece.bytes = copy_.bytes - begin;
    return piece;
}

Sides CudaRequest::sides() const {
    return *copy_.to_device ? Sides{Side::device, Side::host} : Sides{Side::host, Side::device};
}

Status CudaRequest::check_whole() {
    if (!copy_.in_one_piece()) return {};
    const End end{*copy_.to_device ? copy_.destination : copy_.source, Side::device, copy_.bytes};
    ISTHMUS_TRY_ASSIGN(known, session_->device().identify(end.address));
    return check_span(session_->device(), known, end, "the device's side");
}

Status CudaRequest::wait() {
    Binding binding(session_->device());
    ISTHMUS_TRY(binding.status());
    auto* const stream = reinterpret_cast<cuda::Stream>(copy_.stream);  // NOLINT(performance-no-int-to-ptr)
    return api().call(api().cuStreamSynchronize, stream);
}

void CudaRequest::failed() {
    // In a context that is gone nothing more will go well.
    if (auto there = cuda_->session(); there.ok() && there.value() != session_) cuda_->forget(session_);
}

Result<bool> CudaRequest::same_by_driver() {
    Binding binding(session_->device());
    ISTHMUS_TRY(binding.status());
    std::vector<std::byte> back;
    const auto is_same = [&](std::uintptr_t destination, std::uintptr_t source, std::size_t bytes) -> Result<bool> {
        const std::uintptr_t on_device = *copy_.to_device ? destination : source;
        const std::uintptr_t on_host = *copy_.to_device ? source : destination;
        for (std::size_t at = 0; at < bytes; at += checked_bytes) {
            const std::size_t length = std::min(checked_bytes, bytes - at);
            back.resize(length);
            ISTHMUS_TRY(api().call(api().cuMemcpyDtoH, static_cast<void*>(back.data()),
                                   cuda::DevicePointer{on_device + at}, length));
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            if (std::memcmp(back.data(), reinterpret_cast<const void*>(on_host + at), length) != 0) return false;
        }
        return true;
    };
    if (copy_.batch != nullptr) {
        for (std::size_t i = 0; i < copy_.batch->pieces(); ++i) {
            const BatchPiece piece = copy_.batch->piece(i);
            ISTHMUS_TRY_ASSIGN(same, is_same(piece.destination, piece.source, piece.bytes));
            if (!same) return false;
        }
        return true;
    }
    if (copy_.rows_to == nullptr) return is_same(copy_.destination, copy_.source, copy_.bytes);
    const ArrayView& to = *copy_.rows_to;
    const ArrayView& from = *copy_.rows_from;
    for (std::size_t layer = 0; layer < to.shape[0]; ++layer) {
        for (std::size_t row = 0; row < to.shape[1]; ++row) {
            const auto at = [&](const ArrayView& view) {
                return view.address + layer * static_cast<std::size_t>(view.strides_bytes[0]) +
                       row * static_cast<std::size_t>(view.strides_bytes[1]);
            };
            ISTHMUS_TRY_ASSIGN(same, is_same(at(to), at(from), to.shape[2]));
            if (!same) return false;
        }
    }
    return true;
}

}  // namespace

cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain) noexcept {
    CudaRequest request(copy, plain);
    return accelerated(request);
}

}  // namespace isthmus::accelerator
