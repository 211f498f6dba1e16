// The pages of memory that a driver page-locks for a program, put in place by threads before it takes them.
//
// cuMemHostAlloc maps shared anonymous memory, and then has the kernel get, clear and lock one page after the other,
// which is where its time goes. The library hooks that mmap (mapping.cpp) and sees to it that the pages are there when
// it returns. All else is the driver's own call, and so are the answers to all later questions about the memory.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "accelerator/learning.hpp"
#include "accelerator/options.hpp"

namespace isthmus::accelerator {

// Smaller blocks have no room for a huge page.
inline constexpr std::size_t least_placed_bytes = std::size_t{2} << 20;

// The call for page-locked memory that a thread is in.
struct HostAllocation {
    // The frame of the program's call, null outside of one. It is left behind where the program leaves that call by a
    // jump: what the next call finds then has an older frame.
    const void* since = nullptr;
    std::size_t bytes = 0;
    bool is_private = false;  // whether huge pages may be had at the price that a forked child gets a copy of them
    bool is_huge = false;     // whether what was mapped last may have huge pages
    bool is_alone = false;    // whether no other threads place pages
    std::size_t row = 0;      // in what was learned
    double alone_seconds_per_byte = 0;
    bool was_tried_alone = false;
    const std::byte* data = nullptr;  // what was mapped last
    Learning::Part placed{};

    static HostAllocation& of_thread() noexcept { return current; }
    bool is_under_way(const void* frame) const noexcept { return since != nullptr && frame < since; }

  private:
    static thread_local HostAllocation current __attribute__((tls_model("initial-exec")));
};

class HostPages {
  public:
    HostPages(Learning& learning, const Options& options) : learning_(learning), options_(options) {}
    // Around the driver's call. The second counts what was placed, if the driver has it.
    void begin(const void* site, std::size_t bytes, const void* frame);
    void end(bool succeeded);

  private:
    // Whether a child that the program forks has none of the memory in any case, or is to have a copy.
    bool may_be_private() const;

    Learning& learning_;
    const Options& options_;
};

// Maps memory as a driver asks for it, without a file and shared, or in its place what may have huge pages: shared from
// a file that nothing sees, or private where that may be. `map` is the program's own mmap.
using Map = void* (*)(void*, std::size_t, int, int, int, off_t);
void* map_host_pages(HostAllocation& allocation, Map map, void* address, std::size_t bytes, int protection, int flags,
                     int file, off_t offset) noexcept;
// For the hooks of mmap and madvise, by a thread that is in such a call: places the pages of what was just mapped, with
// signals deferred; and learns that the driver keeps what begins there from children.
void place_host_pages(HostAllocation& allocation, std::byte* data, std::size_t bytes) noexcept;
void record_advice(const HostAllocation& allocation, const std::byte* data) noexcept;

}  // namespace isthmus::accelerator
