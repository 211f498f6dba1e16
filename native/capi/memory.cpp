// Memory that the C interface gives out to programs that have no way of their own to get some.
#include <string>

#include "backend/device.hpp"
#include "capi/ending.hpp"
#include "capi/handles.hpp"

namespace isthmus::capi {
namespace {

Result<void*> allocate(isthmus_session& handle, isthmus_side side, std::size_t bytes) {
    if (side != ISTHMUS_HOST && side != ISTHMUS_DEVICE) {
        return Status(Code::invalid_argument, "side is " + std::to_string(side) +
                                                  "; expected ISTHMUS_HOST for page-locked memory, or ISTHMUS_DEVICE");
    }
    if (bytes == 0) return static_cast<void*>(nullptr);
    Device& device = handle.session->device();
    Binding binding(device);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(memory, device.allocate(side == ISTHMUS_HOST ? MemoryKind::pinned : MemoryKind::device, bytes));
    if (side == ISTHMUS_HOST) ISTHMUS_TRY(device.begin_host_access(*memory));
    void* given = reinterpret_cast<void*>(side == ISTHMUS_HOST ? reinterpret_cast<std::uintptr_t>(memory->host())
                                                               : memory->handle());
    const std::lock_guard lock(handle.mutex);
    handle.memory.emplace(given, std::move(memory));
    return given;
}

Status free_memory(isthmus_session& handle, void* memory) {
    std::unique_ptr<Allocation> freed;
    {
        const std::lock_guard lock(handle.mutex);
        const auto found = handle.memory.find(memory);
        if (found == handle.memory.end()) {
            return {Code::invalid_argument, "not memory that isthmus_allocate gave out for this session"};
        }
        freed = std::move(found->second);
        handle.memory.erase(found);
    }
    if (handle.generation != fork_generation()) {
        static_cast<void>(freed.release());
        return {Code::call_failed, "this memory was got before fork(), so that it is the parent's to free"};
    }
    Binding binding(handle.session->device());
    ISTHMUS_TRY(binding.status());
    return freed->release();
}

}  // namespace
}  // namespace isthmus::capi

using namespace isthmus;
using namespace isthmus::capi;

isthmus_code isthmus_allocate(isthmus_session* session, isthmus_side side, size_t bytes, void** memory,
                              isthmus_status* status) noexcept {
    return guarded(status, "allocate", [&]() -> Status {
        if (memory == nullptr) return null_argument("memory");
        *memory = nullptr;
        if (session == nullptr) return null_argument("session");
        ISTHMUS_TRY_ASSIGN(given, allocate(*session, side, bytes));
        *memory = given;
        return {};
    });
}

isthmus_code isthmus_free(isthmus_session* session, void* memory, isthmus_status* status) noexcept {
    return guarded(status, "free", [&]() -> Status {
        if (memory == nullptr) return {};
        if (session == nullptr) return null_argument("session");
        return free_memory(*session, memory);
    });
}
