// One timed case: pieces of equal size that go in one direction, again and again, moved by one method.
#include "experiment/piece_transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/cache.hpp"
#include "base/slices.hpp"
#include "experiment/session_copy.hpp"

namespace isthmus::experiment {
namespace {

constexpr std::size_t guard_bytes = 4096;
// Evicting a piece from the caches takes as long as looking at so many bytes, or longer.
constexpr std::size_t piece_weight = 4096;

Result<Layout> layout_of(const PieceSide& side) {
    ISTHMUS_TRY_ASSIGN(all, side.buffer->region(0, side.buffer->bytes()));
    return Layout{all.allocation, side.offset, side.pitch_bytes, side.slice_pitch_bytes, side.offsets};
}

}  // namespace

PieceTransfer::PieceTransfer(std::shared_ptr<Sides> sides, const Extent& extent, std::shared_ptr<Buffer> reference)
    : sides_(std::move(sides)), extent_(extent), reference_(std::move(reference)) {}

Result<std::unique_ptr<PieceTransfer>> PieceTransfer::create(std::optional<PieceMethod> method, PieceSide destination,
                                                             PieceSide source, const Extent& extent,
                                                             std::shared_ptr<Buffer> reference,
                                                             std::shared_ptr<Staging> staging, const Packing& packing,
                                                             bool from_caches) {
    auto sides = std::make_shared<Sides>(Sides{std::move(destination), std::move(source)});
    if (reference->bytes() < sides->source.buffer->bytes()) return invalid("the reference is smaller than the source");
    if (staging->device_handle() != sides->source.buffer->session().device_handle()) {
        return invalid("the staging memory belongs to another device");
    }
    std::unique_ptr<PieceTransfer> transfer(new PieceTransfer(sides, extent, std::move(reference)));
    ISTHMUS_TRY_ASSIGN(to, layout_of(sides->destination));
    ISTHMUS_TRY_ASSIGN(from, layout_of(sides->source));
    transfer->destination_ = to;
    transfer->source_ = from;
    transfer->staging_ = staging;
    if (method) {
        ISTHMUS_TRY(
            assign(transfer->copy_, PieceCopy::create(*method, to, from, extent, std::move(staging), sides, packing)));
    } else {
        ISTHMUS_TRY_ASSIGN(session, sides->source.buffer->session().copies());
        ISTHMUS_TRY(
            assign(transfer->copy_, pieces_by_session(std::move(session), to, from, extent, std::move(staging))));
    }
    // All of the destination that may be looked at, of a layout that was checked.
    const std::size_t begin = to.offset - std::min(to.offset, guard_bytes);
    const std::size_t end =
        std::min(to.offset + to.span_bytes(extent) + guard_bytes, sides->destination.buffer->bytes());
    transfer->arrivals_.push_back({sides->destination.buffer, begin, end - begin});
    transfer->fills_gaps_ = method == PieceMethod::whole;
    transfer->evicts_ = !from_caches && transfer->cpu_copies(method) && extent.bytes() <= last_level_cache_bytes();
    return transfer;
}

bool PieceTransfer::cpu_copies(std::optional<PieceMethod> method) {
    const bool packs = !method || method == PieceMethod::pack || method == PieceMethod::pack_threads ||
                       method == PieceMethod::pack_kernel;
    const MemoryKind host =
        is_on_device(source_.allocation->kind()) ? destination_.allocation->kind() : source_.allocation->kind();
    return packs || device().copy_blocks(host) || device().info().shares_host_memory;
}

Status PieceTransfer::evict() {
    const Layout& host = is_on_device(source_.allocation->kind()) ? destination_ : source_;
    ISTHMUS_TRY(device().begin_host_access(*host.allocation));
    const std::byte* memory = host.allocation->host();
    const std::size_t lines = extent_.pieces() * (extent_.width_bytes / cache_line + 1);
    if (const std::size_t span = host.span_bytes(extent_); span / cache_line <= 2 * lines) {
        evict_from_caches(memory + host.offset,
                          span);  // Hardly more lines than the pieces have, and one after another.
    } else {
        for_each_slice(extent_.pieces() * piece_weight, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin / piece_weight; i < end / piece_weight; ++i) {
                evict_from_caches(memory + host.at(i, extent_), extent_.width_bytes);
            }
        });
    }
    return device().end_host_access(*host.allocation);
}

Status PieceTransfer::copy() {
    Status status = copy_->run();
    if (status.code() == Code::timed_out) {
        // Somebody may still be at work on them.
        sides_->destination.buffer->lose(status);
        sides_->source.buffer->lose(status);
    }
    return status;
}

Result<Samples> PieceTransfer::run(std::size_t warmups, Quota quota) {
    ISTHMUS_TRY(device().bind_thread());
    return taken({host_seconds}, warmups, quota, [this](Samples& samples) -> Status {
        if (evicts_) ISTHMUS_TRY(evict());
        const TimePoint start = now();
        ISTHMUS_TRY(copy());
        samples[host_seconds].push_back(seconds_between(start, now()));
        return {};
    });
}

// Device memory comes through the staging memory, by copies that the driver's users trust.
Status PieceTransfer::read(const Region& region, std::byte* to) {
    Buffer& buffer = *sides_->destination.buffer;
    if (!is_on_device(buffer.kind())) return buffer.read(region, to);
    Allocation& locked = staging_->host();
    for (std::size_t at = 0; at < region.bytes; at += locked.bytes()) {
        const std::size_t bytes = std::min(locked.bytes(), region.bytes - at);
        ISTHMUS_TRY(
            device().copy(staging_->stream(), {&locked, 0, bytes}, {region.allocation, region.offset + at, bytes}));
        ISTHMUS_TRY(staging_->stream().synchronize());
        for_each_slice(bytes, [&](std::size_t begin, std::size_t end) {
            std::memcpy(to + at + begin, locked.host() + begin, end - begin);
        });
    }
    return {};
}

Result<std::vector<Mismatch>> PieceTransfer::verify() {
    ISTHMUS_TRY(device().bind_thread());
    const auto& [buffer, offset, bytes, seed, side] = arrivals_.front();
    ISTHMUS_TRY_ASSIGN(region, buffer->region(offset, bytes));
    ISTHMUS_TRY(assign(scratch_, sides_->source.buffer->session().scratch(region.bytes)));
    const std::span<std::byte> seen(scratch_->data(), region.bytes);
    ISTHMUS_TRY(read(region, seen.data()));
    ISTHMUS_TRY_ASSIGN(expected, reference_->region(0, reference_->bytes()));
    if (fills_gaps_) {
        // The same layout on both sides: what is between the pieces counts as moved, and then as untouched.
        const std::size_t span = source_.span_bytes(extent_);
        std::byte* const first = seen.data() + (destination_.offset - region.offset);
        const bool same = std::memcmp(first, expected.host() + source_.offset, span) == 0;
        std::memset(first, poison_byte, span);
        if (!same) return std::vector{Mismatch{extent_.pieces(), 0}, Mismatch{}};
    }
    Mismatch total;
    std::mutex mutex;
    const std::size_t width = extent_.width_bytes;
    // Pieces that begin within each slice; each becomes untouched once it was seen, so that only what is outside stays.
    if (!fills_gaps_) {
        for_each_slice(extent_.bytes(), [&](std::size_t begin, std::size_t end) {
            Mismatch part;
            for (std::size_t i = (begin + width - 1) / width; i * width < end; ++i) {
                std::byte* const piece = seen.data() + (destination_.at(i, extent_) - region.offset);
                const bool wrong = std::memcmp(piece, expected.host() + source_.at(i, extent_), width) != 0;
                if (wrong) part = part + Mismatch{1, i};
                std::memset(piece, poison_byte, width);
            }
            const std::lock_guard lock(mutex);
            total = total + part;
        });
    }
    std::atomic<std::size_t> outside = 0;
    for_each_slice(seen.size(), [&](std::size_t begin, std::size_t end) {
        outside += end - begin -
                   static_cast<std::size_t>(std::count(seen.begin() + static_cast<std::ptrdiff_t>(begin),
                                                       seen.begin() + static_cast<std::ptrdiff_t>(end),
                                                       std::byte{poison_byte}));
    });
    return std::vector{total, Mismatch{outside, 0}};
}

}  // namespace isthmus::experiment
