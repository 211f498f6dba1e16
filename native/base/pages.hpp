// Anonymous host memory in ordinary or huge pages, released with its owner.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.hpp"

namespace isthmus {

enum class PageSize { ordinary, huge };

// Aligned to 2 MiB, so that transparent huge pages can back all of it; `ordinary` forbids them, since the kernel's
// "always" setting would otherwise hand them out unasked.
class PageMemory {
  public:
    // Fails with out_of_memory. The pages are not touched yet.
    static Result<PageMemory> allocate(std::size_t bytes, PageSize size);

    PageMemory(PageMemory&& other) noexcept;
    PageMemory& operator=(PageMemory&& other) noexcept;
    PageMemory(const PageMemory&) = delete;
    PageMemory& operator=(const PageMemory&) = delete;
    ~PageMemory();

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

    // Writes one byte of every page from several threads, so that each page is there and lies where the memory policy
    // of the threads wants it.
    void touch() const;

  private:
    PageMemory(std::byte* data, std::size_t bytes, std::byte* mapping, std::size_t mapped)
        : data_(data), bytes_(bytes), mapping_(mapping), mapped_(mapped) {}
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::byte* mapping_ = nullptr;
    std::size_t mapped_ = 0;
};

// NUMA node of up to `count` pages spread evenly over [data, data + bytes); -1 where the kernel cannot say
// (not present, or mapped by a driver).
std::vector<int> nodes_of_pages(const std::byte* data, std::size_t bytes, std::size_t count);

}  // namespace isthmus
