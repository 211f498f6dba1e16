// The library in a program: takes the copies that it makes faster, and leaves all others as they are.
#include "accelerator/accelerator.hpp"

#include <pthread.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "accelerator/crowd.hpp"
#include "accelerator/functions.hpp"
#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/fork.hpp"
#include "base/pages.hpp"
#include "interpose/foreign_process.hpp"
#include "transfer/session/ends.hpp"

namespace isthmus::accelerator {
namespace {

// Up to so much of pageable memory the driver takes for a copy to the device without waiting for the stream.
constexpr std::size_t most_taken_bytes = std::size_t{2} << 20;
// What the first copy costs once: page-locked memory, threads, and the library's own start. What a copy gains, in
// seconds a byte, at the least that was seen: 10 against 40 GB/s, and 4 against 30.
constexpr double start_seconds = 20e-3, gain_to_device = 7e-11, gain_to_host = 2e-10;
constexpr std::size_t part_alignment = 64;
constexpr std::size_t checked_bytes = std::size_t{4} << 20;

const Options& options() {
    static const Options& read = *new Options(Options::from_environment());
    return read;
}

// A thread that is cancelled ends where the program's own calls would, not in the library's.
class NotCancelled {
  public:
    NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
    NotCancelled(const NotCancelled&) = delete;
    NotCancelled& operator=(const NotCancelled&) = delete;

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

// Null where it cannot work: in the child of a fork, after the process began to end, or as the ledger says.
Accelerator* current() {
    using Mine = interpose::Only<Accelerator>;
    static std::atomic<bool> tried = false;
    static constinit std::mutex mutex;
    static bool outlasts_forks = false;  // guarded by it, too: memory may run out before it does, and again after
    if (!tried.load(std::memory_order_acquire)) {
        const std::lock_guard lock(mutex);
        if (!tried.load(std::memory_order_relaxed)) {
            if (!outlasts_forks) outlast_forks(mutex);
            outlasts_forks = true;
            if (auto started = Accelerator::start(options()); started.ok()) {
                Mine::set(started.value());
                Mine::follow_process();
            } else if (Ledger* ledger = Ledger::open(options().folder)) {
                ledger->keep(started.take_status().message());
                ledger->leave(Reason::off, 0);
            }
            tried.store(true, std::memory_order_release);
        }
    }
    return Mine::get();
}

// Whether the driver's own copy is fastest for the size, in whatever direction it may be.
bool is_small(const Copy& copy, const TransferTable& table) {
    if (!copy.in_one_piece()) return false;
    const auto is_ours = [&](bool to_device) {
        return table.buffer(to_device, copy.bytes).method == BufferMethod::staged;
    };
    return copy.to_device ? !is_ours(*copy.to_device) : !is_ours(true) && !is_ours(false);
}

bool is_mapped(std::uintptr_t first, std::size_t bytes) {
    const std::uintptr_t begin = first / least_page * least_page;
    // It writes nothing that is not to be written, and says where pages are missing.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (msync(reinterpret_cast<void*>(begin), first + bytes - begin, MS_ASYNC) != 0) return false;
    return is_readable(first) && is_readable(first + bytes - 1);
}

}  // namespace

std::size_t least_bytes() noexcept {
    static std::atomic<std::size_t> known = 0;
    std::size_t least = known.load(std::memory_order_relaxed);
    if (least != 0) return least;
    // Without memory to read them all is the driver's.
    least = std::numeric_limits<std::size_t>::max();
    interpose::guarded([&] { known = least = options().least_bytes; });
    return least;
}

cuda::ReturnCode accelerated(const Copy& copy, const Plain& plain) noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    Accelerator* accelerator = nullptr;
    interpose::guarded([&] { accelerator = current(); });
    if (accelerator == nullptr) return plain(0, copy.bytes);
    std::optional<cuda::ReturnCode> code;
    interpose::guarded([&] { code = accelerator->copy(copy, plain); });
    // Memory ran out, at worst after some of it had been copied.
    return code ? *code : plain(0, copy.bytes);
}

void begin() noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    interpose::guarded([] { (void)current(); });
}

// The accelerator is there already, or it is not: what may be called with any locks held does not start it.
bool staged(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site) noexcept {
    const Inside inside;
    const NotCancelled not_cancelled;
    bool done = false;
    interpose::guarded([&] {
        Accelerator* const accelerator = interpose::Only<Accelerator>::get();
        done = accelerator != nullptr && accelerator->stage(to, from, bytes, plain, site);
    });
    return done;
}

Result<Accelerator*> Accelerator::start(const Options& options) {
    static cuda::Api& api = *new cuda::Api;
    ISTHMUS_TRY_ASSIGN(opened, cuda::Api::open());
    api = opened;
    Ledger* const ledger = Ledger::open(options.folder);
    if (ledger == nullptr) return Status::no_memory();
    return new Accelerator(api, options, *ledger);
}

cuda::ReturnCode Accelerator::left(Reason reason, const Copy& copy, const Plain& plain) {
    ledger_.leave(reason, copy.bytes);
    return plain(0, copy.bytes);
}

bool Accelerator::is_capturing(std::uintptr_t stream) const {
    if (!api_.cuStreamIsCapturing) return false;
    int state = cuda::stream_capture_status_none;
    // Of the default stream it fails where another stream that waits for it is recorded.
    auto* const handle = reinterpret_cast<cuda::Stream>(stream);  // NOLINT(performance-no-int-to-ptr)
    return api_.cuStreamIsCapturing(handle, &state) != cuda::success || state != cuda::stream_capture_status_none;
}

bool Accelerator::is_busy(std::uintptr_t stream) const {
    auto* const handle = reinterpret_cast<cuda::Stream>(stream);  // NOLINT(performance-no-int-to-ptr)
    return api_.cuStreamQuery && api_.cuStreamQuery(handle) == cuda::error_not_ready;
}

bool Accelerator::pays(const Copy& copy) {
    if (options_.eager || missed_seconds_ >= start_seconds) return true;
    const double gain = static_cast<double>(copy.bytes) * (*copy.to_device ? gain_to_device : gain_to_host);
    return missed_seconds_.fetch_add(gain) + gain >= start_seconds;
}

std::optional<Reason> Accelerator::why_not(Copy& copy, Session& session) {
    // First what needs no call of the driver's, and that once more when the direction is known.
    if (!options_.eager && is_small(copy, session.table())) return Reason::small;
    if (is_capturing(copy.stream)) return Reason::capturing;
    Device& device = session.device();
    if (!copy.to_device) {
        auto to = device.identify(copy.destination);
        auto from = device.identify(copy.source);
        if (!to.ok() || !from.ok()) return Reason::not_pageable;
        const bool to_device = to.value().kind == MemoryKind::device;
        if (to_device == (from.value().kind == MemoryKind::device)) return Reason::not_pageable;
        copy.to_device = to_device;
        if (!options_.eager && is_small(copy, session.table())) return Reason::small;
    }
    const std::uintptr_t host = *copy.to_device ? copy.source : copy.destination;
    const std::size_t span = copy.span_bytes(*copy.to_device);
    for (const std::uintptr_t address : {host, host + (span - 1)}) {
        auto known = device.identify(address);
        if (!known.ok() || known.value().kind != MemoryKind::pageable) return Reason::not_pageable;
    }
    if (!is_mapped(host, span)) return Reason::unmapped;
    const bool is_taken = copy.is_asynchronous && *copy.to_device && copy.bytes <= most_taken_bytes;
    if (is_taken && is_busy(copy.stream)) return Reason::busy;
    if (!pays(copy)) return Reason::early;
    if (!options_.eager && is_crowded()) return Reason::crowded;
    return std::nullopt;
}

Outcome Accelerator::ours(const Copy& copy, Session& session, std::size_t begin) {
    if (copy.batch != nullptr) return session.copy_batch(*copy.batch, {}, copy.stream);
    const Side to = *copy.to_device ? Side::device : Side::host;
    const Side from = *copy.to_device ? Side::host : Side::device;
    if (copy.rows_to != nullptr) {
        copy.rows_to->side = to;
        copy.rows_from->side = from;
        return session.copy(*copy.rows_to, *copy.rows_from, copy.stream);
    }
    BatchPiece piece;
    piece.destination = copy.destination + begin;
    piece.source = copy.source + begin;
    piece.bytes = copy.bytes - begin;
    return session.copy_bytes(piece, {to, from}, copy.stream);
}

Status Accelerator::check_whole(const Copy& copy, Session& session) {
    if (!copy.in_one_piece()) return {};
    const End end{*copy.to_device ? copy.destination : copy.source, Side::device, copy.bytes};
    ISTHMUS_TRY_ASSIGN(known, session.device().identify(end.address));
    return check_span(session.device(), known, end, "the device's side");
}

Status Accelerator::wait(const Copy& copy, Session& session) const {
    Binding binding(session.device());
    ISTHMUS_TRY(binding.status());
    auto* const stream = reinterpret_cast<cuda::Stream>(copy.stream);  // NOLINT(performance-no-int-to-ptr)
    return api_.call(api_.cuStreamSynchronize, stream);
}

cuda::ReturnCode Accelerator::copy(Copy copy, const Plain& plain) {
    if (stopped_) return plain(0, copy.bytes);
    auto found = places_.current();
    if (!found.ok()) {
        ledger_.keep(found.take_status().message());
        return left(Reason::off, copy, plain);
    }
    const std::shared_ptr<Session> session = found.value();
    if (session == nullptr) return left(Reason::other_context, copy, plain);
    if (const auto reason = why_not(copy, *session)) return left(*reason, copy, plain);
    const auto [row, turn] = learning_.next({copy.site, *copy.to_device ? Way::to_device : Way::to_host, copy.bytes});
    if (turn == Learning::Turn::driver && !options_.eager) return left(Reason::slower, copy, plain);
    // What the stream holds is nobody's time.
    if (!wait(copy, *session).ok()) return plain(0, copy.bytes);
    Learning::Part driver;
    Learning::Part mine;
    if (turn == Learning::Turn::sample) {
        if (const Status whole = check_whole(copy, *session); !whole.ok()) {
            ledger_.keep(whole.message());
            return left(Reason::failed, copy, plain);
        }
        const std::size_t half = copy.bytes / 2 / part_alignment * part_alignment;
        driver.bytes = copy.in_one_piece() ? std::min(half, most_sampled_bytes) : copy.bytes;
        const TimePoint begun = now();
        if (const cuda::ReturnCode code = plain(0, driver.bytes); code != cuda::success) return code;
        if (!copy.in_one_piece() && !wait(copy, *session).ok()) return cuda::success;
        driver.seconds = seconds_between(begun, now());
    }
    if (driver.bytes < copy.bytes) {
        const TimePoint begun = now();
        const Outcome outcome = ours(copy, *session, driver.bytes);
        if (!outcome.status.ok()) {
            ledger_.keep(outcome.status.message());
            // In a context that is gone nothing more will go well.
            if (auto there = places_.current(); there.ok() && there.value() != session) places_.forget(session);
            return left(Reason::failed, copy, plain);
        }
        mine = {copy.bytes - driver.bytes, seconds_between(begun, now())};
    }
    learning_.saw(row, mine, driver);
    if (mine.bytes != 0) Inside::copied();
    if (!options_.verify) return cuda::success;
    auto same = same_by_driver(copy, *session);
    std::atomic_ref(ledger_.checked).fetch_add(1);
    if (same.ok() && same.value()) return cuda::success;
    if (same.ok()) {
        std::atomic_ref(ledger_.wrong).fetch_add(1);
        stopped_ = true;
    }
    return plain(0, copy.bytes);
}

Result<bool> Accelerator::same_by_driver(const Copy& copy, Session& session) const {
    Binding binding(session.device());
    ISTHMUS_TRY(binding.status());
    std::vector<std::byte> back;
    const auto is_same = [&](std::uintptr_t destination, std::uintptr_t source, std::size_t bytes) -> Result<bool> {
        const std::uintptr_t on_device = *copy.to_device ? destination : source;
        const std::uintptr_t on_host = *copy.to_device ? source : destination;
        for (std::size_t at = 0; at < bytes; at += checked_bytes) {
            const std::size_t length = std::min(checked_bytes, bytes - at);
            back.resize(length);
            ISTHMUS_TRY(api_.call(api_.cuMemcpyDtoH, static_cast<void*>(back.data()),
                                  cuda::DevicePointer{on_device + at}, length));
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            if (std::memcmp(back.data(), reinterpret_cast<const void*>(on_host + at), length) != 0) return false;
        }
        return true;
    };
    if (copy.batch != nullptr) {
        for (std::size_t i = 0; i < copy.batch->pieces(); ++i) {
            const BatchPiece piece = copy.batch->piece(i);
            ISTHMUS_TRY_ASSIGN(same, is_same(piece.destination, piece.source, piece.bytes));
            if (!same) return false;
        }
        return true;
    }
    if (copy.rows_to == nullptr) return is_same(copy.destination, copy.source, copy.bytes);
    const ArrayView& to = *copy.rows_to;
    const ArrayView& from = *copy.rows_from;
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

}  // namespace isthmus::accelerator
