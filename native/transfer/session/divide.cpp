// Copies of page-locked memory as commands on a stream, and what of them goes by other devices.
#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/device.hpp"
#include "base/threads.hpp"
#include "transfer/session/starter.hpp"

namespace isthmus {
namespace {

constexpr std::size_t part_alignment = 4096;

}  // namespace

Status Starter::enqueue_parts(Stream& stream, const Region& destination, const Region& source, std::size_t most_bytes) {
    const std::size_t bytes = source.bytes;
    if (bytes == 0) return {};
    const std::size_t part = bytes / parts_of(bytes, most_bytes) / part_alignment * part_alignment + part_alignment;
    for (std::size_t at = 0; at < bytes; at += part) {
        const std::size_t length = std::min(part, bytes - at);
        ISTHMUS_TRY(device_->copy(stream, {destination.allocation, destination.offset + at, length},
                                  {source.allocation, source.offset + at, length}));
    }
    return {};
}

Status Starter::enqueue_divided(Stream& stream, Links::Use& links, const Region& destination, const Region& source,
                                std::size_t most_bytes) {
    const std::vector<Relay*> relays = links.relays();
    const std::size_t chunk_bytes = Links::chunk_bytes(source.bytes);
    const std::vector<std::size_t> bytes = links.divide(source.bytes, chunk_bytes);
    const std::size_t own_bytes = source.bytes - std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
    struct Part {
        Relay* relay;
        Region to, from;
        Status queued;
    };
    std::vector<Part> parts;
    parts.reserve(relays.size());
    const auto part = [](const Region& whole, std::size_t at, std::size_t most) {
        return Region{whole.allocation, whole.offset + at, std::min(most, whole.bytes - at)};
    };
    std::size_t begin = own_bytes;
    for (std::size_t i = 0; i < relays.size(); ++i) {
        if (bytes[i] == 0) continue;
        parts.push_back({relays[i], part(destination, begin, bytes[i]), part(source, begin, bytes[i]), {}});
        begin += bytes[i];
    }
    ISTHMUS_TRY_ASSIGN(reached, device_->create_untimed_event());
    ISTHMUS_TRY(device_->record(*reached, stream));
    // The own link begins first, and the chunks of all neighbours are interleaved, so that all begin soon.
    links.begin_queue(stream);
    ISTHMUS_TRY(enqueue_parts(stream, part(destination, 0, own_bytes), part(source, 0, own_bytes), most_bytes));
    links.end_own_queue(stream);
    links.own_keeps(own_bytes);
    for (Part& each : parts) each.queued = caught([&] { return each.relay->begin_queue(*reached); });
    for (std::size_t at = 0; at < source.bytes; at += chunk_bytes) {
        for (Part& each : parts) {
            if (!each.queued.ok() || at >= each.from.bytes) continue;
            each.queued = caught(
                [&] { return each.relay->queue(part(each.to, at, chunk_bytes), part(each.from, at, chunk_bytes)); });
        }
    }
    // The stream follows each of them before anything else can fail.
    for (Part& each : parts) {
        if (each.queued.ok()) {
            each.queued = caught([&]() -> Status {
                ISTHMUS_TRY(each.relay->end_queue(stream));
                return each.relay->join(*device_, stream);
            });
        }
        if (each.queued.ok()) continue;
        each.relay->leave(*device_, stream);
        links.lose(*each.relay, each.queued);
    }
    for (const Part& each : parts) {
        if (each.queued.ok()) continue;
        ISTHMUS_TRY(caught([&] { return enqueue_parts(stream, each.to, each.from, most_bytes); }));
        links.own_keeps(each.from.bytes);
    }
    links.end_queue(stream, source.bytes, own_bytes);
    return {};
}

}  // namespace isthmus
