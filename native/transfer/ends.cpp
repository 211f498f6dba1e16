// What a copy is between: which way it goes, and what kinds of memory lie on its sides.
#include "transfer/ends.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace isthmus {
namespace {

std::string place(const char* name, std::uintptr_t address) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "the %s at 0x%llx", name, static_cast<unsigned long long>(address));
    return text.data();
}

// Pageable, pinned, managed or device.
Result<MemoryKind> kind_of(Device& device, const End& end, const char* name, bool kinds) {
    if (end.side == Side::device) return MemoryKind::device;
    if (end.side == Side::host && !kinds) return MemoryKind::pageable;
    ISTHMUS_TRY_ASSIGN(known, device.identify(end.address));
    if (known.kind != MemoryKind::device) return known.kind;
    if (end.side == Side::host) {
        return Status(Code::invalid_argument, place(name, end.address) + " was said to be on the host, but is on " +
                                                  device.info().backend + ":" + std::to_string(known.device));
    }
    if (known.device != device.info().index) {
        return Status(Code::invalid_argument, place(name, end.address) + " is on " + device.info().backend + ":" +
                                                  std::to_string(known.device) + ", and the session is of " +
                                                  name_of(device) +
                                                  "; copy it in a session of its own device, or move it first");
    }
    return MemoryKind::device;
}

// Whether the process can read there. The kernel answers without a signal; where it must not be asked, it is believed.
bool is_readable(std::uintptr_t address) {
    std::byte byte{};
    const iovec here{&byte, 1};
    const iovec there{reinterpret_cast<void*>(address), 1};  // NOLINT(performance-no-int-to-ptr)
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
}

// Of a side that counts as the host's since no driver knows it, before the host touches it.
Status check_readable(const End& end, MemoryKind kind, const char* name) {
    if (end.side || !is_pageable(kind) || is_readable(end.address)) return {};
    return {Code::invalid_argument,
            place(name, end.address) +
                " is neither memory of the device nor of this process: it was freed, or belongs to "
                "a library that the driver does not know"};
}

}  // namespace

bool has_addresses(const Device& device) {
    return device.info().backend != "opencl";
}

std::string name_of(const Device& device) {
    return device.info().backend + ":" + std::to_string(device.info().index);
}

Result<Ends> ends_of(Device& device, const End& destination, const End& source, bool kinds) {
    if (!has_addresses(device) && !destination.side && !source.side) {
        return Status(Code::invalid_argument,
                      "buffers of OpenCL have no addresses: say which side of the copy is on the device");
    }
    ISTHMUS_TRY_ASSIGN(to, kind_of(device, destination, "destination", kinds));
    ISTHMUS_TRY_ASSIGN(from, kind_of(device, source, "source", kinds));
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
    if (route == Route::h2h) {
        ISTHMUS_TRY(check_readable(destination, to, "destination"));
        ISTHMUS_TRY(check_readable(source, from, "source"));
    }
    return Ends{route, to, from};
}

}  // namespace isthmus
