// Many pieces at once: those of one size together, wherever they lie.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "transfer/batch_checks.hpp"
#include "transfer/session_impl.hpp"

namespace isthmus {
namespace {

// Pieces of different sizes are cut into shorter ones of one size, unless these are too short or too many.
constexpr std::size_t least_common_bytes = 256;
constexpr std::size_t most_cuts = 4;

Status invalid(std::string what) {
    return {Code::invalid_argument, std::move(what)};
}

// Where the pieces of one side lie, from the lowest on.
struct Lie {
    std::uintptr_t address = 0;  // that is borrowed
    std::size_t lowest = 0;      // from there
    std::size_t span_bytes = 0;
    std::size_t pitch_bytes = 0;  // 0 where distances differ
    std::vector<std::uint64_t> offsets;
};

// Finds that out piece by piece, for pieces of one width.
class LieOf {
  public:
    LieOf(std::span<const BatchPiece> pieces, const BatchSide& side, bool addresses)
        : side_(side),
          addresses_(addresses),
          width_(pieces.front().bytes),
          handle_(pieces.front().*side.address),
          first_(place(pieces.front())),
          pitch_(pieces.size() > 1 ? place(pieces[1]) - first_ : width_),
          regular_(pitch_ >= width_ && pitch_ <= SIZE_MAX / 2),
          next_(first_) {
        offsets_.reserve(pieces.size());
    }
    void add(const BatchPiece& piece) {
        const std::size_t at = place(piece);
        lowest_ = std::min(lowest_, at);
        highest_ = std::max(highest_, at);
        regular_ = regular_ && at == next_;
        next_ += pitch_;
        offsets_.push_back(at);
    }
    Lie take() {
        Lie lie;
        if (regular_) {
            lie.pitch_bytes = pitch_;
        } else {
            for (std::uint64_t& offset : offsets_) offset -= lowest_;
            lie.offsets = std::move(offsets_);
        }
        lie.address = addresses_ ? lowest_ : handle_;
        lie.lowest = addresses_ ? 0 : lowest_;
        lie.span_bytes = highest_ - lowest_ + width_;
        return lie;
    }

  private:
    std::size_t place(const BatchPiece& piece) const {
        return piece.*side_.offset_bytes + (addresses_ ? piece.*side_.address : 0);
    }

    const BatchSide& side_;
    const bool addresses_;
    const std::size_t width_;
    const std::uintptr_t handle_;
    const std::size_t first_, pitch_;
    bool regular_;
    std::size_t next_;
    std::size_t lowest_ = SIZE_MAX, highest_ = 0;
    std::vector<std::uint64_t> offsets_;
};

bool one_handle(std::span<const BatchPiece> pieces, const BatchSide& side) {
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](const BatchPiece& piece) { return piece.*side.address == pieces.front().*side.address; });
}

// Pieces of one size, at least one.
Result<std::shared_ptr<CopyJob>> job_of(Device& device, const Ends& ends, std::span<const BatchPiece> pieces) {
    const bool addresses = has_addresses(device);
    // Both sides in one go, for tens of thousands of pieces do not stay in a cache.
    LieOf to_lie(pieces, destinations, addresses || ends.destination != MemoryKind::device);
    LieOf from_lie(pieces, sources, addresses || ends.source != MemoryKind::device);
    for (const BatchPiece& piece : pieces) {
        to_lie.add(piece);
        from_lie.add(piece);
    }
    Lie to = to_lie.take();
    Lie from = from_lie.take();
    auto job = std::make_shared<CopyJob>();
    job->ends = ends;
    job->extent = {pieces.front().bytes, pieces.size(), 1};
    if (!to.offsets.empty() && !are_disjoint(to.offsets, job->extent.width_bytes)) {
        return invalid("destinations of the batch overlap one another; copy them in batches of their own");
    }
    ISTHMUS_TRY_ASSIGN(destination, device.borrow(ends.destination, to.address, to.lowest + to.span_bytes));
    ISTHMUS_TRY_ASSIGN(source, device.borrow(ends.source, from.address, from.lowest + from.span_bytes));
    job->destination_memory = std::move(destination);
    job->source_memory = std::move(source);
    job->destination_offsets = std::move(to.offsets);
    job->source_offsets = std::move(from.offsets);
    const std::size_t rows = job->extent.rows;
    job->destination = {job->destination_memory.get(), to.lowest, to.pitch_bytes, rows * to.pitch_bytes,
                        job->destination_offsets};
    job->source = {job->source_memory.get(), from.lowest, from.pitch_bytes, rows * from.pitch_bytes,
                   job->source_offsets};
    // Memory of the device itself is no memory of the host.
    const bool apart = (ends.destination == MemoryKind::device) != (ends.source == MemoryKind::device);
    const bool may_overlap =
        !apart && (addresses || ends.route == Route::h2h || (ends.route == Route::d2d && to.address == from.address));
    const std::uintptr_t no_address = 0;
    const bool by_address = addresses || ends.route == Route::h2h;
    if (may_overlap && overlap(*job, by_address ? to.address : no_address + to.lowest,
                               by_address ? from.address : no_address + from.lowest)) {
        return invalid("sources and destinations of the batch overlap; copy to other memory first");
    }
    return job;
}

// As pieces of one size, if they can be cut so.
std::vector<BatchPiece> cut(std::span<const BatchPiece> pieces) {
    std::size_t common = 0;
    std::size_t total = 0;
    for (const BatchPiece& piece : pieces) {
        common = std::gcd(common, piece.bytes);
        total += piece.bytes;
    }
    std::vector<BatchPiece> all;
    if (common < least_common_bytes || total / common > most_cuts * pieces.size()) return all;
    all.reserve(total / common);
    for (BatchPiece piece : pieces) {
        const std::size_t end = piece.bytes;
        for (std::size_t at = 0; at < end; at += common) {
            BatchPiece part = piece;
            part.bytes = common;
            part.destination_offset_bytes += at;
            part.source_offset_bytes += at;
            all.push_back(part);
        }
    }
    return all;
}

}  // namespace

Result<std::vector<std::shared_ptr<CopyJob>>> SessionImpl::jobs_of(std::span<const BatchPiece> given, Sides sides) {
    std::vector<std::shared_ptr<CopyJob>> jobs;
    if (given.empty()) return jobs;
    bool any_empty = false;
    bool one_size = true;
    for (const BatchPiece& piece : given) {
        any_empty = any_empty || piece.bytes == 0;
        one_size = one_size && piece.bytes == given.front().bytes;
    }
    std::vector<BatchPiece> kept;
    std::span<const BatchPiece> pieces = given;
    if (any_empty) {
        std::copy_if(given.begin(), given.end(), std::back_inserter(kept),
                     [](const BatchPiece& piece) { return piece.bytes != 0; });
        if (kept.empty()) return jobs;
        pieces = kept;
        one_size = std::all_of(kept.begin(), kept.end(),
                               [&](const BatchPiece& piece) { return piece.bytes == kept.front().bytes; });
    }
    const BatchPiece& first = pieces.front();
    ISTHMUS_TRY_ASSIGN(ends, ends_of(*device_, {first.destination, sides.destination, first.bytes},
                                     {first.source, sides.source, first.bytes}, true));
    bool one_by_one = false;
    if (has_addresses_) {
        if (ends.destination != MemoryKind::device || sides.destination != Side::device) {
            ISTHMUS_TRY(check_side(*device_, pieces, destinations, sides.destination, ends));
        }
        if (ends.source != MemoryKind::device || sides.source != Side::device) {
            ISTHMUS_TRY(check_side(*device_, pieces, sources, sides.source, ends));
        }
    } else {
        one_by_one = (ends.destination == MemoryKind::device && !one_handle(pieces, destinations)) ||
                     (ends.source == MemoryKind::device && !one_handle(pieces, sources));
    }
    // What goes together is looked at when it is put together.
    if (one_by_one || !one_size) {
        ISTHMUS_TRY(check_apart(pieces, has_addresses_ || ends.destination != MemoryKind::device,
                                has_addresses_ || ends.source != MemoryKind::device));
    }
    const auto add = [&](std::span<const BatchPiece> some) -> Status {
        ISTHMUS_TRY_ASSIGN(job, job_of(*device_, ends, some));
        jobs.push_back(std::move(job));
        return {};
    };
    if (one_by_one) {
        for (std::size_t i = 0; i < pieces.size(); ++i) ISTHMUS_TRY(add(pieces.subspan(i, 1)));
        return jobs;
    }
    if (one_size) {
        ISTHMUS_TRY(add(pieces));
        return jobs;
    }
    if (const std::vector<BatchPiece> parts = cut(pieces); !parts.empty()) {
        ISTHMUS_TRY(add(parts));
        return jobs;
    }
    std::map<std::size_t, std::vector<BatchPiece>> groups;
    for (const BatchPiece& piece : pieces) groups[piece.bytes].push_back(piece);
    for (const auto& [bytes, group] : groups) ISTHMUS_TRY(add(group));
    return jobs;
}

Outcome SessionImpl::copy_batch(std::span<const BatchPiece> pieces, Sides sides, std::optional<std::uintptr_t> stream) {
    Call call(*this);
    if (Status status = call.status(); !status.ok()) return {std::move(status)};
    Binding binding(*device_);
    if (Status status = binding.status(); !status.ok()) return {std::move(status)};
    auto jobs = jobs_of(pieces, sides);
    if (!jobs.ok()) return {jobs.take_status()};
    auto order = order_of(stream);
    if (!order.ok()) return {order.take_status()};
    Outcome all;
    for (const std::shared_ptr<CopyJob>& job : jobs.value()) {
        Outcome one = perform(job, choose(*job), order.value());
        all.bytes_completed += one.bytes_completed;
        if (!one.status.ok()) return {std::move(one.status), all.bytes_completed};
    }
    return all;
}

Result<Explanation> SessionImpl::explain_batch(std::span<const BatchPiece> pieces, Sides sides) {
    Call call(*this);
    ISTHMUS_TRY(call.status());
    Binding binding(*device_);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(jobs, jobs_of(pieces, sides));
    if (jobs.empty()) return nothing("no piece has a byte");
    // Of the group with the most bytes, and the sums of all.
    const auto largest = std::max_element(jobs.begin(), jobs.end(), [](const auto& one, const auto& other) {
        return one->extent.bytes() < other->extent.bytes();
    });
    Explanation explanation = explain(**largest);
    explanation.bytes = explanation.pieces = 0;
    explanation.seconds = 0;
    for (const std::shared_ptr<CopyJob>& job : jobs) {
        explanation.bytes += job->extent.bytes();
        explanation.pieces += job->extent.pieces();
        explanation.seconds += choose(*job).seconds;
    }
    if (jobs.size() > 1) {
        explanation.why = "pieces of " + std::to_string(jobs.size()) +
                          " sizes go one after the other; of the largest: " + explanation.why;
    }
    return explanation;
}

}  // namespace isthmus
