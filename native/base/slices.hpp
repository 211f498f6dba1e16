// Splits work over a range of bytes among the processors that this process may use.
#pragma once

#include <cstddef>
#include <functional>

namespace isthmus {

inline constexpr std::size_t most_slices = 16;

// Calls work(begin, end) for consecutive slices of [0, bytes) from several threads and returns when all are done.
// Slices begin at multiples of 4096, so that no two threads touch one page of a page-aligned buffer. Small ranges run
// on the calling thread alone: starting threads costs more than filling a mebibyte. New threads inherit the caller's
// processor and memory binding. Throws what `work` has thrown on any of them, once all have ended.
void for_each_slice(std::size_t bytes, const std::function<void(std::size_t begin, std::size_t end)>& work,
                    std::size_t most_threads = most_slices);

// The same for memory, in slices that begin at huge pages, but for the first: threads that meet in a huge page would
// each clear it.
void for_each_slice_of_huge_pages(std::byte* data, std::size_t bytes,
                                  const std::function<void(std::byte* begin, std::size_t bytes)>& work,
                                  std::size_t most_threads = most_slices);

// A part of a range of bytes: [begin, end).
struct Slice {
    std::size_t begin, end;
};

// Slice `index` of `count` consecutive ones that make up [0, bytes). They begin at multiples of 4096 and differ by one
// page at most; where there are more slices than pages, some are empty.
Slice slice_of(std::size_t bytes, std::size_t index, std::size_t count);

}  // namespace isthmus
