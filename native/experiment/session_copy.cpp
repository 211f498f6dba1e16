// Copies as callers of the library make them, timed next to those of drivers.
#include "experiment/session_copy.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "transfer/copy/ends.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::experiment {
namespace {

// What callers name a place by: its address, or where memory has none, its handle and an offset.
struct Place {
    std::uintptr_t address = 0;
    std::size_t offset_bytes = 0;
};

// The first byte of an allocation. Fails with unsupported for host memory without an address of its own.
Result<Place> place_of(Session& session, const Allocation& memory) {
    const bool addressed = has_addresses(session.device());
    if (!addressed && !is_on_device(memory.kind()) && !is_pageable(memory.kind())) {
        return unsupported("only OpenCL can address this host memory, so that no array lies in it");
    }
    return Place{memory.handle(), 0};
}

Place at(Place place, const Allocation& memory, std::size_t offset, bool addressed) {
    if (addressed || !is_on_device(memory.kind())) return {place.address + offset, 0};
    return {place.address, offset};
}

Side side_of(const Allocation& memory) {
    return is_on_device(memory.kind()) ? Side::device : Side::host;
}

class SessionPieces : public PieceCopy {
  public:
    SessionPieces(std::shared_ptr<Session> session, const Layout& destination, const Layout& source,
                  const Extent& extent, std::shared_ptr<Staging> staging)
        : PieceCopy(destination, source, extent, std::move(staging)), session_(std::move(session)) {}

    Status prepare() {
        ISTHMUS_TRY_ASSIGN(to, place_of(*session_, *destination_.allocation));
        ISTHMUS_TRY_ASSIGN(from, place_of(*session_, *source_.allocation));
        const bool addressed = has_addresses(session_->device());
        if (!destination_.is_scattered() && !source_.is_scattered()) {
            array_to_ = array_of(to, destination_, addressed);
            array_from_ = array_of(from, source_, addressed);
            return {};
        }
        lists_.reserve(extent_.pieces());
        for (std::size_t i = 0; i < extent_.pieces(); ++i) {
            const Place written = at(to, *destination_.allocation, destination_.at(i, extent_), addressed);
            const Place read = at(from, *source_.allocation, source_.at(i, extent_), addressed);
            lists_.add({written.address, read.address, extent_.width_bytes, written.offset_bytes, read.offset_bytes});
        }
        return {};
    }

  protected:
    Status start() override {
        if (lists_.empty()) return session_->copy(array_to_, array_from_, std::nullopt).status;
        const Sides sides{side_of(*destination_.allocation), side_of(*source_.allocation)};
        return session_->copy_batch(lists_.batch(), sides, std::nullopt).status;
    }
    // Nothing is on the staging memory's stream.
    Status finish() override { return {}; }

  private:
    ArrayView array_of(const Place& place, const Layout& layout, bool addressed) const {
        const Place first = at(place, *layout.allocation, layout.offset, addressed);
        ArrayView view;
        view.address = first.address;
        view.offset_bytes = first.offset_bytes;
        view.shape = {extent_.slices, extent_.rows, extent_.width_bytes};
        view.strides_bytes = {static_cast<std::ptrdiff_t>(layout.slice_pitch_bytes),
                              static_cast<std::ptrdiff_t>(layout.pitch_bytes), 1};
        view.side = side_of(*layout.allocation);
        return view;
    }

    const std::shared_ptr<Session> session_;
    ArrayView array_to_, array_from_;
    BatchLists lists_;
};

}  // namespace

Status copy_by_session(Session& session, const Region& destination, const Region& source) {
    ISTHMUS_TRY_ASSIGN(to_memory, place_of(session, *destination.allocation));
    ISTHMUS_TRY_ASSIGN(from_memory, place_of(session, *source.allocation));
    const bool addressed = has_addresses(session.device());
    const Place to = at(to_memory, *destination.allocation, destination.offset, addressed);
    const Place from = at(from_memory, *source.allocation, source.offset, addressed);
    return session
        .copy_bytes({to.address, from.address, source.bytes, to.offset_bytes, from.offset_bytes},
                    {side_of(*destination.allocation), side_of(*source.allocation)}, std::nullopt)
        .status;
}

Result<std::shared_ptr<PieceCopy>> pieces_by_session(std::shared_ptr<Session> session, const Layout& destination,
                                                     const Layout& source, const Extent& extent,
                                                     std::shared_ptr<Staging> staging) {
    ISTHMUS_TRY(check_destination(destination, extent));
    ISTHMUS_TRY(check(source, extent));
    auto pieces = std::make_shared<SessionPieces>(std::move(session), destination, source, extent, std::move(staging));
    ISTHMUS_TRY(pieces->prepare());
    return std::shared_ptr<PieceCopy>(std::move(pieces));
}

}  // namespace isthmus::experiment
