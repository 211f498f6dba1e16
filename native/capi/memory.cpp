// Memory that the C interface gives out to programs that cannot allocate it themselves.
#include <optional>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "capi/ending.hpp"
#include "capi/handles.hpp"

namespace isthmus::capi {
namespace {

Result<void*> allocate_pinned(isthmus_session& handle, std::size_t bytes) {
    if (bytes == 0) return static_cast<void*>(nullptr);
    ISTHMUS_TRY_ASSIGN(block, handle.session->pinned(bytes));
    void* const given = block.data();
    const std::lock_guard lock(handle.mutex);
    handle.pinned.emplace(given, std::move(block));
    return given;
}

Result<void*> allocate(isthmus_session& handle, isthmus_side side, std::size_t bytes) {
    if (side == ISTHMUS_HOST) return allocate_pinned(handle, bytes);
    if (side != ISTHMUS_DEVICE) {
        return invalid("side is " + std::to_string(side) +
                       "; expected ISTHMUS_HOST for page-locked memory, or ISTHMUS_DEVICE");
    }
    if (bytes == 0) return static_cast<void*>(nullptr);
    Device& device = handle.session->device();
    Binding binding(device);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(memory, device.allocate(MemoryKind::device, bytes));
    void* given = reinterpret_cast<void*>(memory->handle());
    const std::lock_guard lock(handle.mutex);
    handle.memory.emplace(given, std::move(memory));
    return given;
}

Status parents() {
    return {Code::call_failed, "this memory was got before fork(), so that it is the parent's to free"};
}

// Whether there was such a block.
Result<bool> free_pinned(isthmus_session& handle, void* memory) {
    std::optional<PinnedBlock> freed;
    {
        const std::lock_guard lock(handle.mutex);
        const auto entry = handle.pinned.find(memory);
        if (entry == handle.pinned.end()) return false;
        freed.emplace(std::move(entry->second));
        handle.pinned.erase(entry);
    }
    if (handle.generation != fork_generation()) return parents();
    return true;
}

Status free_memory(isthmus_session& handle, void* memory) {
    ISTHMUS_TRY_ASSIGN(is_pinned, free_pinned(handle, memory));
    if (is_pinned) return {};
    std::unique_ptr<Allocation> freed;
    {
        const std::lock_guard lock(handle.mutex);
        const auto entry = handle.memory.find(memory);
        if (entry == handle.memory.end()) {
            return invalid("not memory that isthmus_allocate or isthmus_pinned_alloc gave out for this session");
        }
        freed = std::move(entry->second);
        handle.memory.erase(entry);
    }
    if (handle.generation != fork_generation()) {
        static_cast<void>(freed.release());
        return parents();
    }
    Binding binding(handle.session->device());
    ISTHMUS_TRY(binding.status());
    return freed->release();
}

template <typename Allocate>
isthmus_code give(isthmus_status* status, const char* operation, isthmus_session* session, void** memory,
                  const Allocate& allocate) noexcept {
    return guarded(status, operation, [&]() -> Status {
        if (memory == nullptr) return null_argument("memory");
        *memory = nullptr;
        if (session == nullptr) return null_argument("session");
        return assign(*memory, allocate());
    });
}

isthmus_code take_back(isthmus_status* status, const char* operation, isthmus_session* session, void* memory) noexcept {
    return guarded(status, operation, [&]() -> Status {
        if (memory == nullptr) return {};
        return session == nullptr ? null_argument("session") : free_memory(*session, memory);
    });
}

}  // namespace
}  // namespace isthmus::capi

using namespace isthmus;
using namespace isthmus::capi;

isthmus_code isthmus_allocate(isthmus_session* session, isthmus_side side, size_t bytes, void** memory,
                              isthmus_status* status) noexcept {
    return give(status, "allocate", session, memory, [&] { return allocate(*session, side, bytes); });
}

isthmus_code isthmus_free(isthmus_session* session, void* memory, isthmus_status* status) noexcept {
    return take_back(status, "free", session, memory);
}

isthmus_code isthmus_pinned_alloc(isthmus_session* session, size_t bytes, void** memory,
                                  isthmus_status* status) noexcept {
    return give(status, "pinned_alloc", session, memory, [&] { return allocate_pinned(*session, bytes); });
}

isthmus_code isthmus_pinned_free(isthmus_session* session, void* memory, isthmus_status* status) noexcept {
    return take_back(status, "pinned_free", session, memory);
}
