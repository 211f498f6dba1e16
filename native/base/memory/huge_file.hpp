// A file in memory that may have huge pages, also where the system has none for memory that is shared without a file.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace isthmus {

// Without a name, in a file system of its own that nothing can see (tmpfs with huge=advise); both are gone with the
// last mapping. Memory that is mapped from it, shared, is to a program and its children what memory without a file is.
class HugeFile {
  public:
    // One of so many bytes, none of which are there. Nothing where the process may not mount file systems
    // (CAP_SYS_ADMIN), before Linux 5.2, or where a limit would treat a file otherwise: of the size of files, of calls
    // (seccomp), or of all that is promised (overcommit_memory=2). Makes the program's errno no other.
    static std::optional<HugeFile> make(std::size_t bytes) noexcept;
    // False where it is known that none is made.
    static bool may_be_made() noexcept;

    HugeFile(HugeFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    HugeFile& operator=(HugeFile&&) = delete;
    ~HugeFile();
    int descriptor() const { return file_; }

  private:
    explicit HugeFile(int file) : file_(file) {}
    int file_;
};

// From now on the calling thread has no descriptors, and no other thread sees those that it opens: in a foreign process
// any number may be closed and be another file's. False where the kernel cannot (before Linux 5.9). Precondition: the
// thread is ours, and ends soon.
bool leave_descriptors() noexcept;

}  // namespace isthmus
