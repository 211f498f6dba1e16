// What is looked at before pieces of a batch are copied: where they are, and that they do not overlap.
#include "transfer/copy/batch_checks.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "backend/layout.hpp"

namespace isthmus {
namespace {

// How many pieces the driver is asked about where it cannot say where their memory begins and ends.
constexpr std::size_t samples = 16;

// The bytes of a piece, and the space that they are counted in: where memory has no addresses, each handle is a space
// of its own, and only pieces of one space can overlap.
struct Interval {
    std::uintptr_t space;
    std::size_t begin, end;
    bool operator<(const Interval& other) const {
        return std::tie(space, begin, end) < std::tie(other.space, other.begin, other.end);
    }
};

std::vector<Interval> intervals_of(const BatchSide& side, std::span<const std::size_t> bytes, bool addresses) {
    std::vector<Interval> intervals;
    intervals.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::size_t begin = side.offset_bytes(i) + (addresses ? side.address(i) : 0);
        intervals.push_back({addresses ? 0 : side.address(i), begin, begin + bytes[i]});
    }
    if (!std::is_sorted(intervals.begin(), intervals.end())) std::sort(intervals.begin(), intervals.end());
    return intervals;
}

}  // namespace

bool is_one_size(std::span<const std::size_t> bytes) {
    // Without a branch, for most are.
    std::size_t different = 0;
    for (const std::size_t size : bytes) different |= size ^ bytes.front();
    return different == 0;
}

Status check_side(Device& device, const BatchSide& side, std::span<const std::size_t> bytes, const char* side_name,
                  std::optional<Side> stated, MemoryKind& kind, bool& partly_locked) {
    KnownMemory known;
    std::size_t allocations = 0;
    bool any_pinned = false;
    const std::size_t stride = std::max<std::size_t>(bytes.size() / samples, 1);
    // Not every piece of pageable memory need be looked at.
    for (std::size_t i = 0; i < bytes.size(); i += kind == MemoryKind::pageable ? stride : 1) {
        const std::uintptr_t address = side.address(i);
        const bool is_known = address >= known.begin && address < known.end && bytes[i] <= known.end - address;
        if (is_known && known.kind != MemoryKind::pageable) continue;
        ISTHMUS_TRY_ASSIGN(memory, device.identify(address));
        known = memory;
        ++allocations;
        any_pinned = any_pinned || memory.kind == MemoryKind::pinned;
        const bool on_device = memory.kind == MemoryKind::device || memory.kind == MemoryKind::managed;
        const std::string name = std::string(side_name) + " of piece " + std::to_string(i);
        const bool is_reached = stated == Side::device && !on_device &&
                                (memory.kind == MemoryKind::pinned || device.kernels_reach(memory.kind));
        if (kind == MemoryKind::device && !is_reached && (!on_device || memory.device != device.info().index) &&
            memory.kind != MemoryKind::managed) {
            return invalid(
                "the " + name + " is " +
                (on_device ? "on " + device.info().backend + ":" + std::to_string(memory.device) : "host memory") +
                ", and others are on " + name_of(device) + "; all pieces of a batch go one way");
        }
        if (kind != MemoryKind::device && memory.kind == MemoryKind::device) {
            return invalid("the " + name +
                           " is on the device, and others are host memory; all pieces of a batch go one way");
        }
        const End end{address, stated, bytes[i]};
        if (on_device || is_reached) ISTHMUS_TRY(check_span(device, memory, end, name));
        if (stated != Side::host && memory.kind == MemoryKind::pageable) ISTHMUS_TRY(check_readable(end, name));
        const bool is_all = !side.from_lowest.empty() && memory.kind != MemoryKind::pageable &&
                            memory.begin <= side.reach.lowest && side.reach.highest < memory.end &&
                            bytes[i] <= memory.end - side.reach.highest;
        if (is_all) return {};
        // One that reaches beyond what holds its beginning counts as two.
        if (memory.begin < memory.end && bytes[i] > memory.end - address) ++allocations;
    }
    if (kind != MemoryKind::device && allocations > 1) {
        kind = MemoryKind::pageable;
        partly_locked = partly_locked || any_pinned;
    }
    return {};
}

Status overlapping_destinations() {
    return invalid("destinations of the batch overlap one another; copy them in batches of their own");
}

bool are_destinations_disjoint(const Batch& batch) {
    if (batch.pieces() == 0 || !batch.destinations.offsets_bytes.empty()) return false;
    const std::size_t width = batch.bytes.front();
    if (!is_one_size(batch.bytes)) return false;
    const auto& addresses = batch.destinations.addresses;
    return are_disjoint({reinterpret_cast<const std::uint64_t*>(addresses.data()), addresses.size()}, width);
}

Status check_apart(const Batch& batch, bool destination_has_addresses, bool source_has_addresses) {
    const std::vector<Interval> to = intervals_of(batch.destinations, batch.bytes, destination_has_addresses);
    const auto meet = [](const Interval& one, const Interval& later) {
        return one.space == later.space && later.begin < one.end;
    };
    if (std::ranges::adjacent_find(to, meet) != to.end()) return overlapping_destinations();
    const std::vector<Interval> from = intervals_of(batch.sources, batch.bytes, source_has_addresses);
    auto next = to.begin();
    for (const Interval& read : from) {
        // Destinations do not overlap, so that their ends ascend, too; those of sources need not.
        while (next != to.end() &&
               (next->space < read.space || (next->space == read.space && next->end <= read.begin))) {
            ++next;
        }
        if (next == to.end()) break;
        if (next->space == read.space && next->begin < read.end) {
            return invalid("sources and destinations of the batch overlap; copy to other memory first");
        }
    }
    return {};
}

}  // namespace isthmus
