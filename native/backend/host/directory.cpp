// What this process knows of the host backend's memory and streams by their handles.
#include "backend/host/directory.hpp"

#include <iterator>

namespace isthmus::host {

Directory& Directory::get() {
    // Never destroyed: memory may be given back while the process ends.
    static auto* const directory = new Directory;
    return *directory;
}

void Directory::add(std::uintptr_t begin, std::size_t bytes, MemoryKind kind) {
    KnownMemory known{MemoryKind::pinned, -1, begin, begin + bytes};
    if (is_on_device(kind) || kind == MemoryKind::managed) {
        known.kind = is_on_device(kind) ? MemoryKind::device : MemoryKind::managed;
        known.device = 0;
    }
    const std::lock_guard lock(mutex_);
    memory_[begin] = known;
}

void Directory::remove(std::uintptr_t begin) {
    const std::lock_guard lock(mutex_);
    memory_.erase(begin);
}

KnownMemory Directory::find(std::uintptr_t address) const {
    const std::lock_guard lock(mutex_);
    const auto after = memory_.upper_bound(address);
    const KnownMemory before = after == memory_.begin() ? KnownMemory{} : std::prev(after)->second;
    if (address < before.end) return before;
    return {MemoryKind::pageable, -1, before.end, after == memory_.end() ? UINTPTR_MAX : after->first};
}

void Directory::add(const std::shared_ptr<Worker>& worker) {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [](const auto& entry) { return entry.second.expired(); });
    streams_[reinterpret_cast<std::uintptr_t>(worker.get())] = worker;
}

std::shared_ptr<Worker> Directory::find_stream(std::uintptr_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto stream = streams_.find(handle);
    return stream == streams_.end() ? nullptr : stream->second.lock();
}

}  // namespace isthmus::host
