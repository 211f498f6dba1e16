// What the parts of a host device share and keep alive: its model, and how often each operation was called.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "backend/host/model.hpp"
#include "backend/host/worker.hpp"

namespace isthmus::host {

struct Core {
    explicit Core(Model m) : model(std::move(m)) {
        for (const auto& [operation, fault] : model.faults) calls[operation] = 0;
    }

    Model model;
    std::unordered_map<std::string, std::atomic<std::uint64_t>> calls;  // filled by the constructor only
    std::atomic<std::size_t> device_bytes_used = 0;
    std::atomic<std::size_t> locked_bytes_used = 0;
    // One copy at a time in each direction, as on a link; taken only when a rate is modelled.
    std::array<std::mutex, 2> engines;

    // What a caller's stream 0 is; starts when it is first used. Null where there is no room for its thread.
    std::shared_ptr<Worker> default_worker() {
        const std::lock_guard lock(default_mutex_);
        if (default_worker_ == nullptr) default_worker_ = Worker::start();
        return default_worker_;
    }

    // The fault that this call of `operation` meets, if any.
    std::optional<FaultKind> meet(const std::string& operation) {
        const auto fault = model.faults.find(operation);
        if (fault == model.faults.end()) return std::nullopt;
        const std::uint64_t call = ++calls.at(operation);
        return call >= fault->second.first ? std::optional(fault->second.kind) : std::nullopt;
    }

  private:
    std::mutex default_mutex_;
    std::shared_ptr<Worker> default_worker_;  // guarded by default_mutex_
};

inline Status injected(FaultKind kind, const std::string& operation, std::size_t bytes) {
    const Code code = kind == FaultKind::out_of_memory ? Code::out_of_memory : Code::call_failed;
    return {code, operation + " failed for " + std::to_string(bytes) + " bytes: fault injected into the host backend"};
}

inline bool fails(const std::optional<FaultKind>& fault) {
    return fault == FaultKind::fail || fault == FaultKind::out_of_memory;
}

}  // namespace isthmus::host
