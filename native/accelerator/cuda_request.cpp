// Copies of CUDA programs.
#include "accelerator/cuda_request.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "accelerator/accelerator.hpp"
#include "accelerator/captures.hpp"
#include "accelerator/functions.hpp"
#include "accelerator/places.hpp"
#include "accelerator/staging.hpp"
#include "backend/cuda/program.hpp"
#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/clock.hpp"
#include "base/memory/access.hpp"
#include "interpose/foreign_process.hpp"
#include "transfer/copy/ends.hpp"

namespace isthmus::accelerator {
namespace {

// Smaller copies of page-locked memory take one link no longer than the driver takes to be told of several.
constexpr std::size_t least_divided_bytes = std::size_t{16} << 20;
// What was to be a sample is none where the driver has not ended it by then: the stream may have been given more.
constexpr double sample_seconds = 0.05;

constexpr std::uintptr_t last_special_stream = 2;  // default streams, of whichever context is current

// The driver that the program uses, or why there is none.
Result<cuda::Program>& program_of_process() {
    static auto& opened = *new Result<cuda::Program>(cuda::Program::open());
    return opened;
}

// That driver, and the sessions in the program's contexts.
class Cuda {
  public:
    // Never destroyed: the program may copy to the end.
    static Cuda& of_process(const Options& options) {
        static Cuda& one = *(made = new Cuda(options));
        return one;
    }
    // Null where there is no driver; why says `failure`.
    const cuda::Program* program() const { return opened_.ok() ? &opened_.value() : nullptr; }
    const std::string& failure() const { return failure_; }
    // As Places::current. Precondition: there is a driver.
    Result<std::shared_ptr<Session>> session() { return places_->current(); }
    void forget(const std::shared_ptr<Session>& session) { places_->forget(session); }
    void forget_lost() {
        if (places_) places_->forget_lost();
    }
    // Null until a copy was looked at.
    static Cuda* known() { return made; }

  private:
    explicit Cuda(const Options& options) : opened_(program_of_process()) {
        if (opened_.ok()) {
            places_.emplace(opened_.value(), options);
        } else {
            failure_ = opened_.take_status().message();
        }
    }

    static inline std::atomic<Cuda*> made = nullptr;
    Result<cuda::Program>& opened_;
    std::optional<Places> places_;
    std::string failure_;
};

class CudaRequest final : public Request {
  public:
    explicit CudaRequest(const Copy& copy) : Request(copy.site, copy.bytes, copy.in_one_piece()), copy_(copy) {}

    std::optional<Reason> why_not(const Options& options, Ledger& ledger) override;
    std::optional<Reason> why_not_resume(bool to_device, const Options& options, Ledger& ledger) override;
    bool to_device() const override { return *copy_.to_device; }
    Status wait() override;
    std::optional<Reason> why_not_yet() override;
    bool has_ended_soon() override;
    double probe() override;
    Outcome by_library(std::size_t begin) override;
    void failed() override;
    bool is_queued() const override { return is_pinned() && copy_.is_asynchronous; }
    bool divides() override { return session_->divides(*copy_.to_device, copy_.bytes); }
    Result<bool> queue() override;
    Result<bool> same_by_driver() override;

  private:
    // Gets the session, without which nothing can be asked.
    std::optional<Reason> why_no_session(const Options& options, Ledger& ledger);
    // Finds out the direction.
    std::optional<Reason> why_not(const Options& options);
    // Whether the driver's own copy is fastest for the size, in whatever direction it may be.
    bool is_small() const;
    bool may_divide() const;
    // Of memory of the host that is page-locked where it begins: whether other devices may copy it, too, and the other
    // side is the device's own.
    bool is_reached_by_all(const KnownMemory& first) const;
    // What the driver would refuse, or may: asked before anything is waited for, so that its answer comes when it
    // would.
    std::optional<Reason> why_invalid() const;
    bool is_on_stream_of_context() const;
    bool has_pitches() const;
    // Whether all of these bytes are the device's, of `known` or of what is then put there.
    bool holds(KnownMemory& known, std::uintptr_t address, std::size_t bytes) const;
    BatchPiece piece(std::size_t begin) const;
    Sides sides() const;

    Copy copy_;
    Cuda* cuda_ = nullptr;
    std::shared_ptr<Session> session_;
    cuda::Program::StreamState state_ = cuda::Program::StreamState::busy;  // when it was asked
    std::optional<cuda::Door> door_;  // last, so that all that ends here ends inside
};

std::optional<Reason> CudaRequest::why_no_session(const Options& options, Ledger& ledger) {
    // What the driver refuses meanwhile, and what becomes of the graph, is between the program and the driver.
    if (Captures::any()) return Reason::capturing;
    cuda_ = &Cuda::of_process(options);
    if (cuda_->program() == nullptr) {
        ledger.keep(cuda_->failure());
        return Reason::off;
    }
    door_.emplace(cuda_->program()->api());
    auto found = cuda_->session();
    if (!found.ok()) {
        ledger.keep(found.take_status().message());
        return Reason::off;
    }
    session_ = std::move(found.value());
    return session_ == nullptr ? std::optional(Reason::other_context) : std::nullopt;
}

std::optional<Reason> CudaRequest::why_not(const Options& options, Ledger& ledger) {
    const auto reason = why_no_session(options, ledger);
    return reason ? reason : why_not(options);
}

// The stream may be busy, with the part that the driver has made.
std::optional<Reason> CudaRequest::why_not_resume(bool to_device, const Options& options, Ledger& ledger) {
    copy_.to_device = to_device;
    if (const auto reason = why_no_session(options, ledger)) return reason;
    state_ = cuda_->program()->state_of(copy_.stream);
    return state_ == cuda::Program::StreamState::captured ? std::optional(Reason::capturing) : std::nullopt;
}

bool CudaRequest::is_small() const {
    if (!copy_.in_one_piece()) return false;
    const auto is_ours = [&](bool to_device) {
        return session_->table().buffer(to_device, copy_.bytes).method == BufferMethod::staged;
    };
    return copy_.to_device ? !is_ours(*copy_.to_device) : !is_ours(true) && !is_ours(false);
}

bool CudaRequest::may_divide() const {
    return !session_->has_own_link_alone() && copy_.in_one_piece() && copy_.bytes >= least_divided_bytes;
}

bool CudaRequest::is_reached_by_all(const KnownMemory& first) const {
    const std::uintptr_t host = *copy_.to_device ? copy_.source : copy_.destination;
    // The driver refuses what begins in one block and ends in another.
    if (first.begin < first.end && copy_.bytes > first.end - host) return false;
    Device& device = session_->device();
    auto last = device.identify(host + (copy_.bytes - 1));
    if (!last.ok() || last.value().kind != MemoryKind::pinned) return false;
    KnownMemory there;
    return holds(there, *copy_.to_device ? copy_.destination : copy_.source, copy_.bytes) &&
           there.kind == MemoryKind::device && !PinnedMemory::of_process().is_of_one_context(host);
}

bool CudaRequest::is_on_stream_of_context() const {
    if (copy_.stream <= last_special_stream) return true;
    const std::optional<std::uintptr_t> owner = cuda_->program()->context_of(copy_.stream);
    return owner == session_->device().context_handle();
}

bool CudaRequest::has_pitches() const {
    if (copy_.rows == nullptr) return true;
    const int most = cuda_->program()->most_pitch_bytes(session_->device().info().index);
    return std::max(copy_.rows->destination.strides_bytes[1], copy_.rows->source.strides_bytes[1]) <= most;
}

bool CudaRequest::holds(KnownMemory& known, std::uintptr_t address, std::size_t bytes) const {
    Device& device = session_->device();
    if (address < known.begin || address >= known.end) {
        auto found = device.identify(address);
        if (!found.ok()) return false;
        known = found.value();
    }
    const bool is_own =
        known.kind == MemoryKind::managed || (known.kind == MemoryKind::device && known.device == device.info().index &&
                                              (known.context == 0 || known.context == device.context_handle()));
    if (!is_own) return false;
    // The driver's 2-D copies refuse several allocations, also if each begins where another ends.
    if (copy_.rows != nullptr) return known.begin < known.end && bytes <= known.end - address;
    return check_span(device, known, {address, Side::device, bytes}, "device's side").ok();
}

std::optional<Reason> CudaRequest::why_invalid() const {
    const bool to_device = *copy_.to_device;
    const PinnedMemory& pinned = PinnedMemory::of_process();
    KnownMemory there;
    if (!is_on_stream_of_context()) return Reason::other_context;
    if (!has_pitches()) return Reason::form;
    if (copy_.batch == nullptr) {
        const Copy::Given on_host = copy_.given(to_device), on_device = copy_.given(!to_device);
        if (pinned.meets(on_host.begin, on_host.bytes)) return Reason::not_pageable;
        if (!holds(there, on_device.begin, on_device.bytes)) return Reason::form;
        return std::nullopt;
    }
    for (std::size_t i = 0; i < copy_.batch->pieces(); ++i) {
        const BatchPiece piece = copy_.batch->piece(i);
        if (pinned.meets(to_device ? piece.source : piece.destination, piece.bytes)) return Reason::not_pageable;
        if (!holds(there, to_device ? piece.destination : piece.source, piece.bytes)) return Reason::form;
    }
    return std::nullopt;
}

std::optional<Reason> CudaRequest::why_not(const Options& options) {
    // First what needs no call of the driver's, and that once more when the direction is known.
    const bool is_left = !options.eager && !may_divide();
    if (is_left && is_small()) return Reason::small;
    state_ = cuda_->program()->state_of(copy_.stream);
    if (state_ == cuda::Program::StreamState::captured) return Reason::capturing;
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
    for (const std::uintptr_t address : {copy_.given(*copy_.to_device).begin, host + (span - 1)}) {
        auto known = device.identify(address);
        if (known.ok() && known.value().kind == MemoryKind::pageable) continue;
        is_pinned_ = address == host && known.ok() && known.value().kind == MemoryKind::pinned && may_divide() &&
                     is_reached_by_all(known.value());
        return is_pinned_ ? std::nullopt : std::optional(Reason::not_pageable);
    }
    if (!options.eager && is_small()) return Reason::small;
    if (!is_there(*copy_.to_device ? Access::read : Access::write, host, span)) return Reason::unmapped;
    if (const auto reason = why_invalid()) return reason;
    const bool is_idle = state_ == cuda::Program::StreamState::idle;
    return is_idle || driver_waits(copy_) ? std::nullopt : std::optional(Reason::busy);
}

// Rows and pieces are moved by kernels. Those are loaded while the context is idle: loading would wait for its work.
std::optional<Reason> CudaRequest::why_not_yet() {
    Device& device = session_->device();
    if (copy_.in_one_piece() || device.has_kernels()) return std::nullopt;
    bool is_idle = false;
    {
        const Captures::Pause pause;
        is_idle = pause.none_runs() && cuda_->program()->is_context_idle();
    }
    if (is_idle) (void)device.load_kernels();
    return is_idle ? std::nullopt : std::optional(Reason::busy);
}

double CudaRequest::probe() {
    // What any call costs is not the memory's.
    constexpr double call_seconds = 100e-6;
    constexpr std::size_t most_probed_bytes = std::size_t{64} << 10;
    const std::size_t first = copy_.batch != nullptr ? copy_.batch->bytes[0] : copy_.rows->destination.shape[2];
    const std::size_t bytes = std::min(first, most_probed_bytes);
    if (!is_there(to_device() ? Access::read : Access::write, to_device() ? copy_.source : copy_.destination, bytes)) {
        return 0;
    }
    const TimePoint begun = now();
    const Status status = cuda_->program()->copy(to_device(), copy_.destination, copy_.source, bytes, copy_.stream);
    state_ = cuda::Program::StreamState::busy;
    if (status.ok()) (void)has_ended_soon();
    return std::max(seconds_between(begun, now()) - call_seconds, 0.0) / static_cast<double>(bytes);
}

Outcome CudaRequest::by_library(std::size_t begin) {
    // Without a stream: what it comes behind has ended, and what others have put there since is not waited for.
    if (copy_.batch != nullptr) return session_->copy_batch(*copy_.batch, {}, std::nullopt);
    if (copy_.rows != nullptr) {
        copy_.rows->destination.side = sides().destination;
        copy_.rows->source.side = sides().source;
        return session_->copy(copy_.rows->destination, copy_.rows->source, std::nullopt);
    }
    return session_->copy_bytes(piece(begin), sides(), std::nullopt);
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

Status CudaRequest::wait() {
    if (state_ == cuda::Program::StreamState::idle) return {};
    return cuda_->program()->wait_behind(copy_.stream);
}

bool CudaRequest::has_ended_soon() {
    const TimePoint begun = now();
    for (; state_ != cuda::Program::StreamState::idle; state_ = cuda_->program()->state_of(copy_.stream)) {
        if (seconds_between(begun, now()) > sample_seconds) return false;
        std::this_thread::yield();
    }
    return true;
}

void CudaRequest::failed() {
    // In a context that is gone nothing more will go well.
    if (auto there = cuda_->session(); there.ok() && there.value() != session_) cuda_->forget(session_);
}

Result<bool> CudaRequest::same_by_driver() {
    std::vector<std::byte> back;
    const auto is_same = [&](std::uintptr_t destination, std::uintptr_t source, std::size_t bytes) -> Result<bool> {
        const std::uintptr_t on_device = *copy_.to_device ? destination : source;
        const std::uintptr_t on_host = *copy_.to_device ? source : destination;
        for (std::size_t at = 0; at < bytes; at += checked_bytes) {
            const std::size_t length = std::min(checked_bytes, bytes - at);
            back.resize(length);
            ISTHMUS_TRY(cuda_->program()->read(back.data(), on_device + at, length));
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
    if (copy_.rows == nullptr) return is_same(copy_.destination, copy_.source, copy_.bytes);
    const ArrayView& to = copy_.rows->destination;
    const ArrayView& from = copy_.rows->source;
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

// Everything that has to be cleaned up is here: the thread may end while the driver makes its part.
[[gnu::noinline]] bool next_part_of(const Copy& given, Progress& progress) noexcept {
    if (has_ended(progress)) return false;
    Copy copy = given;
    std::optional<Rows> rows;
    if (copy.copy_2d != nullptr || copy.copy_3d != nullptr) {
        interpose::guarded([&] { rows = copy.copy_2d != nullptr ? rows_of(*copy.copy_2d) : rows_of(*copy.copy_3d); });
        if (!rows) return progress.leave(copy.bytes, Reason::form);
        copy.to_device = rows->to_device;
        copy.destination = rows->destination.address;
        copy.source = rows->source.address;
        copy.rows = &*rows;
    }
    CudaRequest request(copy);
    return next_part(request, progress);
}

// The context that `ask` gets from the program's driver; 0 from within a call of ours, and where there is none.
template <typename Ask>
std::uintptr_t context_from(const Ask& ask) noexcept {
    if (Inside::here()) return 0;
    const Inside inside;
    std::uintptr_t context = 0;
    interpose::guarded([&] {
        Result<cuda::Program>& program = program_of_process();
        if (program.ok()) context = ask(program.value()).value_or(0);
    });
    return context;
}

}  // namespace

void forget_lost_contexts() noexcept {
    const Inside inside;
    interpose::guarded([] {
        Cuda* const cuda = Cuda::known();
        if (cuda == nullptr || cuda->program() == nullptr) return;
        cuda->forget_lost();
        // The driver is asked without the mutex: it may copy large blocks with a lock of its own.
        for (const std::uintptr_t begin : PinnedMemory::of_process().begins()) {
            if (!cuda->program()->knows(begin)) PinnedMemory::of_process().remove(begin);
        }
    });
}

std::uintptr_t context_of_stream(std::uintptr_t stream) noexcept {
    return context_from([stream](cuda::Program& program) { return program.context_of(stream); });
}

std::uintptr_t primary_context(int device) noexcept {
    return context_from([device](cuda::Program& program) { return program.primary_context(device); });
}

cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain) {
    Progress progress;
    while (next_part_of(copy, progress)) {
        Inside::call_driver(__builtin_frame_address(0));
        progress.code = plain(progress.begin, progress.bytes);
        Inside::driver_returned();
    }
    return progress.code;
}

}  // namespace isthmus::accelerator
