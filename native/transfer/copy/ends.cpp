// What a copy is between: its direction, and what kinds of memory are on its sides.
#include "transfer/copy/ends.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

#include "backend/device_info.hpp"
#include "base/pages.hpp"

namespace isthmus {
namespace {

std::string hex(std::uintptr_t address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
    return text.data();
}

Status invalid_end(const std::string& name, const End& end, const std::string& what) {
    return invalid("the " + name + " at " + hex(end.address) + " " + what);
}

struct Found {
    MemoryKind kind = MemoryKind::pageable;
    bool partly_locked = false;
    std::uintptr_t for_kernels = 0;
    int other_device = -1;  // whose memory it is, if not this device's
    std::uintptr_t context = 0;
};

// Memory of the host: pageable, or page-locked if it is one block that holds all of it.
Result<Found> found_on_host(Device& device, const KnownMemory& known, const End& end, const char* name) {
    const auto reaches_into_device = [&] {
        return invalid_end(name, end,
                           "is host memory, and " + std::to_string(end.bytes) +
                               " bytes from there reach into memory of the device; copy no more than there is");
    };
    bool is_pinned = known.kind == MemoryKind::pinned;
    if (known.begin < known.end && end.address >= known.begin) {
        if (end.bytes <= known.end - end.address) return Found{known.kind, false, known.kernel_address};
        KnownMemory next = known;
        while (next.begin < next.end && end.bytes > next.end - end.address) {
            ISTHMUS_TRY_ASSIGN(following, device.identify(next.end));
            if (following.kind == MemoryKind::device) return reaches_into_device();
            if (following.end <= next.end) break;  // at the end of all addresses
            is_pinned = is_pinned || following.kind == MemoryKind::pinned;
            next = following;
        }
        return Found{MemoryKind::pageable, is_pinned};
    }
    const std::uintptr_t last_byte = end.address + (end.bytes - 1);
    if (end.address / least_page == last_byte / least_page) return Found{known.kind, false, known.kernel_address};
    // Where the driver cannot say how far it goes, it can say whether the last byte is of the same kind.
    ISTHMUS_TRY_ASSIGN(last, device.identify(last_byte));
    if (last.kind == MemoryKind::device) return reaches_into_device();
    if (last.kind == known.kind) return Found{known.kind, false, known.kernel_address};
    return Found{MemoryKind::pageable, is_pinned || last.kind == MemoryKind::pinned};
}

Result<KnownMemory> identify(Device& device, std::uintptr_t address, LastKnown::Answer* last) {
    if (last != nullptr && last->memory.begin <= address && address < last->memory.end) {
        KnownMemory known = last->memory;
        if (known.kernel_address != 0) known.kernel_address += address - last->address;
        return known;
    }
    ISTHMUS_TRY_ASSIGN(known, device.identify(address));
    if (last != nullptr) *last = {address, known};
    return known;
}

// Pageable, pinned, managed or device.
Result<Found> find(Device& device, const End& end, const char* name, bool kinds, LastKnown::Answer* last) {
    const bool said_device = end.side == Side::device;
    if (said_device && (!kinds || !has_addresses(device))) return Found{MemoryKind::device, false};
    if (end.side == Side::host && !kinds) return Found{};
    ISTHMUS_TRY_ASSIGN(known, identify(device, end.address, last));
    if (known.kind == MemoryKind::device) {
        const std::string owner =
            device.info().backend == "host" ? "host" : device.info().backend + ":" + std::to_string(known.device);
        if (end.side == Side::host) return invalid_end(name, end, "was said to be on the host, but is on " + owner);
        if (known.device != device.info().index) {
            ISTHMUS_TRY(check_span(device, known, end, name));
            return Found{MemoryKind::device, false, 0, known.device, known.context};
        }
        if (known.context != 0 && known.context != device.context_handle()) {
            return invalid_end(
                name, end,
                "is memory of a CUDA context that the program created (cuCtxCreate), and Isthmus works in "
                "the device's primary context, as the runtime API and torch do; allocate it there "
                "(cuDevicePrimaryCtxRetain, cudaMalloc), or copy it by the driver in its own context");
        }
    }
    if (known.kind == MemoryKind::device || known.kind == MemoryKind::managed) {
        ISTHMUS_TRY(check_span(device, known, end, name));
        return Found{said_device ? MemoryKind::device : known.kind, false};
    }
    if (!said_device) return found_on_host(device, known, end, name);
    // Mapped memory may be given by the address that the device has it at. A kernel that is given what the device does
    // not reach ends all use of the device for the whole process.
    if (known.kind == MemoryKind::pageable && !device.kernels_reach(MemoryKind::pageable)) {
        return invalid_end(name, end,
                           "was said to be on " + name_of(device) +
                               ", but the driver knows no memory there: it was freed, or is the host's");
    }
    ISTHMUS_TRY(check_span(device, known, end, name));
    if (is_pageable(known.kind)) ISTHMUS_TRY(check_readable(end, name));
    return Found{MemoryKind::device, false};
}

// The first byte and the last. Nothing is beyond the last address.
bool is_readable(const End& end) {
    const std::uintptr_t last = end.address + (end.bytes - 1);
    if (last < end.address) return false;
    if (!isthmus::is_readable(end.address)) return false;
    return end.address / least_page == last / least_page || isthmus::is_readable(last);
}

}  // namespace

bool has_addresses(const Device& device) {
    return device.info().has_addresses;
}

std::string name_of(const Device& device) {
    const DeviceInfo& info = device.info();
    return info.backend == "host" ? info.backend : info.backend + ":" + std::to_string(info.index);
}

Status check_span(Device& device, const KnownMemory& known, const End& end, const std::string& name) {
    // Where the driver cannot say, it is believed.
    if (known.begin >= known.end || end.address < known.begin) return {};
    std::uintptr_t reached = known.end;
    while (end.bytes > reached - end.address) {
        ISTHMUS_TRY_ASSIGN(next, device.identify(reached));
        // Each part is asked once: the first here, the others when they are reached.
        const bool goes_on = next.kind == known.kind && next.device == known.device && next.begin == reached &&
                             next.end > reached && (reached != known.end || device.is_mapped(known.begin)) &&
                             device.is_mapped(reached);
        if (!goes_on) {
            const bool is_before = known.kind == MemoryKind::pageable;
            if (is_before) {
                return invalid_end(name, end,
                                   "begins " + std::to_string(reached - end.address) +
                                       " bytes before the allocation at " + hex(reached) +
                                       " that it reaches into; its first byte is to be within it");
            }
            return invalid_end(name, end,
                               "is within memory that begins at " + hex(known.begin) + " and ends at " + hex(reached) +
                                   ", of which " + std::to_string(reached - end.address) + " bytes are left, not " +
                                   std::to_string(end.bytes) + "; copy no more than there is");
        }
        reached = next.end;
    }
    return {};
}

Status check_readable(const End& end, const std::string& name) {
    if (is_readable(end)) return {};
    return invalid_end(
        name, end,
        "is neither memory of the device nor of this process, or not all " + std::to_string(end.bytes) +
            " bytes of it: it was freed, is shorter, or belongs to a library that the driver does not know");
}

Result<Ends> ends_of(Device& device, const End& destination, const End& source, bool kinds, LastKnown* last) {
    if (!has_addresses(device) && !destination.side && !source.side) {
        return invalid("buffers of OpenCL have no addresses: say which side of the copy is on the device");
    }
    ISTHMUS_TRY_ASSIGN(destination_found,
                       find(device, destination, "destination", kinds, last != nullptr ? &last->destination : nullptr));
    ISTHMUS_TRY_ASSIGN(source_found, find(device, source, "source", kinds, last != nullptr ? &last->source : nullptr));
    MemoryKind to = destination_found.kind;
    MemoryKind from = source_found.kind;
    if (!destination.side && is_pageable(to)) ISTHMUS_TRY(check_readable(destination, "destination"));
    if (!source.side && is_pageable(from)) ISTHMUS_TRY(check_readable(source, "source"));
    if (has_addresses(device)) {
        // The driver copies it like its own, wherever its pages are; the host need not touch them.
        if (to == MemoryKind::managed && from != MemoryKind::device) to = MemoryKind::device;
        if (from == MemoryKind::managed && to != MemoryKind::device) from = MemoryKind::device;
    }
    const bool to_device = to == MemoryKind::device;
    const bool from_device = from == MemoryKind::device;
    Route route = Route::h2h;
    if (to_device) {
        route = from_device ? Route::d2d : Route::h2d;
    } else if (from_device) {
        route = Route::d2h;
    }
    Ends ends{route,
              to,
              from,
              destination_found.partly_locked || source_found.partly_locked,
              destination_found.for_kernels,
              source_found.for_kernels};
    for (const bool is_destination : {true, false}) {
        const Found& side = is_destination ? destination_found : source_found;
        if (side.other_device < 0) continue;
        if (route != Route::d2d || ends.is_between_devices()) {
            return invalid_end(is_destination ? "destination" : "source", is_destination ? destination : source,
                               "is on " + device.info().backend + ":" + std::to_string(side.other_device) +
                                   ", and the session is of " + name_of(device) +
                                   "; copy it in a session of its own device, or move it first");
        }
        ends.other_device = side.other_device;
        ends.other_is_destination = is_destination;
        ends.other_context = side.context;
    }
    return ends;
}

}  // namespace isthmus
