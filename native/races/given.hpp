// Memory of the program that the kernel uses in a call of the C library. It would refuse a protected page where the
// processor faults: the pages are opened before the call, and no copy is protected on them until it has returned.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "races/rows.hpp"

struct mmsghdr;
struct msghdr;

namespace isthmus::races {

// What a call may have of integers and pointers.
using SystemWords = std::array<std::uintptr_t, 6>;

class Given {
  public:
    // A buffer, whose first byte the kernel touches. `writes`: it writes there.
    Given(const void* memory, std::size_t bytes, bool writes);
    Given(const iovec* parts, std::size_t count, bool writes);
    Given(const mmsghdr* messages, unsigned count, bool writes);
    Given(const msghdr* message, bool writes);
    // Names, structures and lists of which it is not known how much is used, so that no touch is reported. Bit i of
    // `pointers`: word i is one of them. `bytes` of each at most, where that is more than 64 KiB.
    Given(const SystemWords& words, unsigned pointers, std::size_t bytes = 0);
    ~Given();
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;

  private:
    // Opens a structure of the program's; false where it cannot be read.
    bool can_use(const void* structure, std::size_t bytes);
    void add(const iovec* parts, std::size_t count, bool writes);
    void add(const msghdr& message, bool writes);
    void add(const Range& range, bool writes, bool is_touched);
    void open(const Range& range, bool writes, bool is_touched);

    std::size_t used_ = 0;
    std::array<std::uint32_t, 16> numbers_{};
};

// Whether the kernel can read memory that it is given; else it is left to refuse it.
bool can_read(const void* memory, std::size_t bytes);

// Memory whose mapping or protection the program changes: it is its own again, and not followed any more.
void let_go(const void* memory, std::size_t bytes);
// Words by which threads wait, and texts by which a program is executed: no copy is protected on their pages any more.
void keep_open(const void* memory, std::size_t bytes);
void keep_text_open(const char* text);
// Up to a null.
void keep_texts_open(const char* const* list);
void keep_words_open(const SystemWords& words, unsigned pointers);

}  // namespace isthmus::races
