// Host memory as programs get it: anonymous pages, ordinary or huge, or the C library's.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.hpp"

namespace isthmus {

// No system has smaller ones. What is in one is page-locked together or not at all.
inline constexpr std::size_t least_page = 4096;
// This system's own: on x86-64 as large, on ARM up to 64 KiB. The kernel refuses to change or tell what begins
// elsewhere.
inline std::size_t system_page() {
    return static_cast<std::size_t>(getpagesize());
}
// What transparent huge pages are of, on x86-64 and on ARM with small pages of 4 KiB.
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

// Whole pages that hold so many bytes.
constexpr std::size_t in_pages(std::size_t bytes) {
    return (bytes + least_page - 1) / least_page * least_page;
}

// The system's pages that bytes are in, all of them.
struct PagesAround {
    PagesAround(const std::byte* data, std::size_t count)
        : begin(const_cast<std::byte*>(data - reinterpret_cast<std::uintptr_t>(data) % system_page())),
          bytes(static_cast<std::size_t>(data - begin) + count) {}
    std::byte* begin;
    std::size_t bytes;  // to the last of them: the kernel rounds it up
};

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

  private:
    PageMemory(std::byte* data, std::size_t bytes, std::byte* mapping, std::size_t mapped)
        : data_(data), bytes_(bytes), mapping_(mapping), mapped_(mapped) {}
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::byte* mapping_ = nullptr;
    std::size_t mapped_ = 0;
};

// Memory that is allocated and freed by hand. Neither call does more than a program would.
class HostBlock {
  public:
    enum class Source { malloc, ordinary, huge };

    HostBlock(Source source, std::size_t bytes);
    HostBlock(const HostBlock&) = delete;
    HostBlock& operator=(const HostBlock&) = delete;
    ~HostBlock() { release(); }

    // Precondition: nothing is held. Fails with out_of_memory. The pages are not touched.
    Status acquire();
    void release();
    // Holds nothing any more, and leaves the pages where they are, for good: a device may still reach them.
    void leave();
    // Null when nothing is held.
    std::byte* data() const { return pages_ ? pages_->data() : recycled_; }

  private:
    Source source_;
    std::size_t bytes_;
    std::optional<PageMemory> pages_;
    std::byte* recycled_ = nullptr;
};

// Sees to it that each page is there and is where the memory policy of the threads that put it there wants it:
// several threads, or the calling one. Writes one byte of every page.
void touch_pages(std::byte* data, std::size_t bytes);
// Has pages put in place by a few threads as though they were written to, and leaves what memory holds as it is.
// Where the kernel cannot (before Linux 5.14, or what may not be written) some or all stay as they were.
void populate_pages(std::byte* data, std::size_t bytes);
void touch_pages_alone(std::byte* data, std::size_t bytes);

// NUMA node of up to `count` pages spread evenly over [data, data + bytes); -1 where the kernel cannot say
// (not present, or mapped by a driver).
std::vector<int> nodes_of_pages(const std::byte* data, std::size_t bytes, std::size_t count);

// Whether the process can read the word that the byte is in.
bool is_readable(std::uintptr_t address);
// Whether all of these bytes, one at least, are mapped, and the first and the last can be read.
bool is_mapped(std::uintptr_t first, std::size_t bytes);

}  // namespace isthmus
