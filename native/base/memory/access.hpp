// Whether an access to memory of a program would raise a signal, asked before it is made.
//
// A program may have memory that is protected, or the end of a file that was cut off, and handle the signal: on the
// thread that made the access, which a thread of the library must not be. Another thread of the program's may still
// change a mapping between the question and the access.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus {

enum class Access { read, write };

// The mappings of the process, as the kernel has them while this lives. Asked through a file that the process keeps
// open from the first question on, under a high number.
class Mappings {
  public:
    // `unknown` where each page has to be asked for: before Linux 6.11, without /proc, and to write to a file, for each
    // of whose pages there may be no room. Takes as long for much memory as for little.
    enum class Answer { yes, no, unknown };
    Answer may(Access access, const std::byte* data, std::size_t bytes);
    // Whether some of what was asked about is a file's, which may be cut off meanwhile.
    bool met_file() const { return met_file_; }

  private:
    // Finds the one that the address is in.
    Answer find(std::uintptr_t address);

    std::uintptr_t begin_ = 0, end_ = 0;  // of the one found last
    std::uint64_t flags_ = 0;
    bool is_of_file_ = false, met_file_ = false;
};

// Whether memory is there, as far as can be found out without looking at each page.
bool is_there(Access access, std::uintptr_t first, std::size_t bytes);

// Has all pages of a range in place by calls that fail where the access would raise a signal. What memory holds stays
// as it is. Asks for each page, which takes long.
bool make_accessible(Access access, const std::byte* data, std::size_t bytes);
// The same of the first page and the last alone: whether a file reaches so far, for one.
bool is_accessible_at_ends(Access access, const std::byte* data, std::size_t bytes);

}  // namespace isthmus
