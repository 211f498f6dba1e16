// Gets page-locked memory by the fastest method of a device for its size.
#include "transfer/pinned/page_locked.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <string>
#include <string_view>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "base/limits/memory_room.hpp"
#include "base/pages.hpp"
#include "transfer/pinned/on_node.hpp"

namespace isthmus {
namespace {

constexpr std::size_t least_registered_bytes = std::size_t{1} << 20;

MemoryKind kind_for(const Device& device, std::size_t bytes) {
    // OpenCL's copies know their own buffers alone.
    if (!device.info().has_addresses) return MemoryKind::pinned;
    const bool registers = !device.why_not(MemoryKind::touched_registered_huge);
    return registers && bytes >= least_registered_bytes ? MemoryKind::touched_registered_huge
                                                        : MemoryKind::pinned_portable;
}

// What may prevent it besides memory itself.
std::string limits() {
    std::string words;
    rlimit lock{};
    if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur != RLIM_INFINITY) {
        words = "; the memory-lock limit of this process is " + std::to_string(lock.rlim_cur) +
                " bytes (RLIMIT_MEMLOCK): raise it with ulimit -l, docker's --ulimit memlock=-1 or LimitMEMLOCK";
    }
    if (std::string_view(system_release()).find("icrosoft") != std::string::npos) {
        words += "; under WSL, Windows lets a part of the memory be locked, which .wslconfig (memory=) sets";
    }
    return words + "; ask for less, or give back what Session.trim() and isthmus_trim() do";
}

}  // namespace

Status with_limits(Status status, std::size_t bytes) {
    if (status.code() != Code::out_of_memory) return status;
    return {Code::out_of_memory,
            std::to_string(bytes) + " bytes of page-locked memory: " + status.message() + limits()};
}

Result<std::unique_ptr<Allocation>> page_locked(Device& device, const std::optional<NumaNode>& node, std::size_t bytes,
                                                AfterFork after_fork) {
    if (Status status = check_memory_room(bytes, ""); !status.ok()) return with_limits(std::move(status), bytes);
    const MemoryKind kind = kind_for(device, bytes);
    const auto allocate = [&](MemoryKind wanted) {
        return made_on_node<std::unique_ptr<Allocation>>(node, device, [&] { return device.allocate(wanted, bytes); });
    };
    auto made = allocate(kind);
    if (!made.ok() && kind == MemoryKind::touched_registered_huge) {
        Status status = made.take_status();
        if (status.code() == Code::out_of_memory) return with_limits(std::move(status), bytes);
        // Some systems register no memory, whatever the device says of itself.
        made = allocate(MemoryKind::pinned_portable);
    }
    if (!made.ok()) return with_limits(made.take_status(), bytes);
    Allocation& memory = *made.value();
    ISTHMUS_TRY(device.begin_host_access(memory));
    if (is_registered(memory.kind()) && (after_fork == AfterFork::parent || !forks_copy_locked_pages())) {
        (void)madvise(memory.host(), in_pages(bytes), MADV_DONTFORK);
    }
    return made;
}

}  // namespace isthmus
