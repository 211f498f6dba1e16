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
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "accelerator/learning.hpp"
#include "accelerator/options.hpp"
#include "base/clock.hpp"
#include "base/fault_ahead.hpp"
#include "base/worker_group.hpp"

namespace isthmus::accelerator {

// The page-locked memory of the process, as its calls got and gave it back. Used with signals blocked: a handler may
// call memcpy, and ask.
class PinnedMemory {
  public:
    static PinnedMemory& of_process();
    // `of_one_context`: registered for the current context alone, and not for all.
    void add(std::uintptr_t begin, std::size_t bytes, bool of_one_context = false);
    void remove(std::uintptr_t begin);
    // The addresses at which its blocks begin.
    std::vector<std::uintptr_t> begins() const;
    // Whether all of it is.
    bool holds(std::uintptr_t begin, std::size_t bytes) const;
    // Whether any of it is.
    bool meets(std::uintptr_t begin, std::size_t bytes) const;
    bool is_of_one_context(std::uintptr_t address) const;
    static bool is_any() { return blocks != 0; }

  private:
    struct Block {
        std::size_t bytes;
        bool of_one_context;
    };
    // The one that the address is in, and where it begins; null where there is none. With the mutex.
    const std::pair<const std::uintptr_t, Block>* find(std::uintptr_t address) const;
    mutable std::shared_mutex mutex_;  // guards what is known
    std::map<std::uintptr_t, Block> known_;
    static inline std::atomic<std::size_t> blocks = 0;  // that are known
};

using MemoryCopy = void* (*)(void* to, const void* from, std::size_t bytes);

// From this size on threads pay.
inline constexpr std::size_t least_staged_bytes = std::size_t{1} << 20;

// A memcpy of the program's, and how far it is. The function that the program called keeps it, and itself copies what
// is to be plain: then no lock is held, no thread is in the program's memory and no other frame of the library is on
// the stack, so that the program may fault, leave by a jump out of a handler, or end the thread, as without the
// library.
struct StagedCopy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
    const void* site;

    enum class Stage { fresh, sampled, begun } stage = Stage::fresh;
    std::size_t done = 0;  // from the first byte on
    std::size_t row = 0;   // in what was learned
    Learning::Part plain{}, ours{};
    TimePoint begun{};
};

// What the program's thread does next.
enum class StagedStep {
    plain,   // copies everything: threads do not pay, or cannot get at some of the memory
    sample,  // copies the first StagedCopy::plain.bytes, to compare
    again,   // asks again, after it has taken the signals that have come meanwhile
    done,
};

class Staging {
  public:
    Staging(Learning& learning, const Options& options)
        : learning_(learning), most_threads_(options.threads), eager_(options.eager) {}
    // Moves a part of it by threads, none of which is still in the program's memory afterwards. Called with signals
    // blocked.
    StagedStep go_on(StagedCopy& copy);

  private:
    // What threads are at work on; it outlives the program's call.
    struct Slice {
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::size_t bytes = 0;
        // What a thread asks the kernel for before it touches a chunk: the ends show where a file was cut off.
        enum class Check : char { none, ends, pages } check_to = Check::pages, check_from = Check::pages;
        std::atomic<std::size_t> next = 0;
        std::atomic<bool> failed = false;
    };
    // Where it is nothing for threads, or they are at work already, `plain`; without a step they may begin.
    std::optional<StagedStep> begin(StagedCopy& copy);
    // False where memory is protected or not there; else what is to be checked of each chunk.
    bool look(std::size_t bytes);
    // False where it cannot be moved so: without room for threads, or where memory is protected or not there.
    bool move(const StagedCopy& copy, std::size_t bytes);
    bool start_threads();
    void move_chunks();

    Learning& learning_;
    const std::size_t most_threads_;
    const bool eager_;
    std::mutex mutex_;  // guards what follows
    std::unique_ptr<WorkerGroup> group_;
    Slice slice_;
    FaultAhead ahead_;
};

}  // namespace isthmus::accelerator
