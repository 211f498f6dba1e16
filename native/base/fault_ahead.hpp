// Lets threads have pages that were never touched put in place before they write to them.
#pragma once

#include <atomic>
#include <cstddef>

namespace isthmus {

// Several threads that write side by side meet in one huge page, which each would clear for itself when it is missing.
// Here each thread has other pages put in place, ahead of where it is written. Never changes what memory holds, and
// does nothing where pages are there already. Ordinary pages are left to those who write: no two meet in one.
class FaultAhead {
  public:
    // How far ahead of what is written each thread has pages put in place.
    static constexpr std::size_t bytes_ahead = std::size_t{2} << 20;

    // Whether memory is so large, and was touched so little, that putting its pages in place takes longer than the
    // rest.
    static bool is_worthwhile(std::byte* data, std::size_t bytes);
    // For memory that is to be written from its beginning to its end; asks for huge pages, where the system lets
    // programs ask. Does nothing unless it is worthwhile. Not while threads are at work. `checks`: a page that may not
    // be written is no fault.
    void begin(std::byte* data, std::size_t bytes, bool checks = false);
    // Takes what is next, unless that is beyond byte `end`; returns whether there was something to take.
    bool take(std::size_t end);

  private:
    std::byte* data_ = nullptr;  // of the first huge page that is within; null where there is nothing to do
    std::size_t first_ = 0;      // where that is, from the beginning
    std::size_t pages_ = 0;
    bool checks_ = false;
    std::atomic<std::size_t> next_ = 0;
};

}  // namespace isthmus
