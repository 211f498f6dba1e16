// Programs that stage by themselves: their memcpy into page-locked memory, and out of it, by several threads.
//
// Frameworks have a fast copy of the device's from page-locked memory, and fill that with one thread, which is slower
// than the link by far (safetensors, CuPy, JAX). What is page-locked is known from the program's own calls: memcpy may
// be called with any locks held, and then no driver can be asked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "accelerator/learning.hpp"
#include "accelerator/options.hpp"
#include "base/fault_ahead.hpp"
#include "base/worker_group.hpp"

namespace isthmus::accelerator {

// The page-locked memory of the process, as its calls got and gave it back.
class PinnedMemory {
  public:
    static PinnedMemory& of_process();
    // Page-locked memory is every context's, unless a program has some of its own be only of the one that locks it.
    void add(std::uintptr_t begin, std::size_t bytes, bool of_one_context = false);
    void remove(std::uintptr_t begin);
    // Where its blocks begin.
    std::vector<std::uintptr_t> begins() const;
    // Whether all of it is.
    bool holds(std::uintptr_t begin, std::size_t bytes) const;
    // Whether any of it is.
    bool meets(std::uintptr_t begin, std::size_t bytes) const;
    bool is_of_one_context(std::uintptr_t address) const;
    bool is_empty() const { return blocks_ == 0; }

  private:
    struct Block {
        std::size_t bytes;
        bool of_one_context;
    };
    // The one that the address is in, and where it begins; null where there is none. With the mutex.
    const std::pair<const std::uintptr_t, Block>* find(std::uintptr_t address) const;
    mutable std::shared_mutex mutex_;  // guards what is known
    std::map<std::uintptr_t, Block> known_;
    std::atomic<std::size_t> blocks_ = 0;
};

using MemoryCopy = void* (*)(void* to, const void* from, std::size_t bytes);

// From here on threads pay.
inline constexpr std::size_t least_staged_bytes = std::size_t{1} << 20;

class Staging {
  public:
    Staging(Learning& learning, const Options& options)
        : learning_(learning), most_threads_(options.threads), eager_(options.eager) {}
    // False where it is nothing for threads, or they are at work already: then nothing was copied.
    bool copy(void* to, const void* from, std::size_t bytes, MemoryCopy plain, const void* site);

  private:
    bool by_threads(std::byte* to, const std::byte* from, std::size_t bytes, bool to_pinned);

    Learning& learning_;
    const std::size_t most_threads_;
    const bool eager_;
    std::mutex mutex_;  // guards what follows
    std::unique_ptr<WorkerGroup> group_;
    FaultAhead ahead_;
};

}  // namespace isthmus::accelerator
