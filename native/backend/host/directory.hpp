// What this process knows of the host backend's memory and streams by their handles, as a driver knows of its own.
//
// One for all devices, since a caller's program and this library may each have opened theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "backend/device.hpp"
#include "backend/host/worker.hpp"
#include "base/fork.hpp"

namespace isthmus::host {

class Directory {
  public:
    static Directory& get();

    void add(std::uintptr_t begin, std::size_t bytes, MemoryKind kind);
    void remove(std::uintptr_t begin);
    // What is at the address: pageable memory where nothing was added.
    KnownMemory find(std::uintptr_t address) const;

    void add(const std::shared_ptr<Worker>& worker);
    // Null where no stream has this handle.
    std::shared_ptr<Worker> find_stream(std::uintptr_t handle) const;

  private:
    mutable ProcessMutex mutex_;  // guards all below
    std::map<std::uintptr_t, KnownMemory> memory_;
    std::map<std::uintptr_t, std::weak_ptr<Worker>> streams_;
};

}  // namespace isthmus::host
