// The file of a recorder in a foreign program, held by its path and by no descriptor.
//
// Programs close descriptors that they did not open and use their numbers for files of their own. So each piece of work
// opens the file anew, looks whether it is still the one that was made, and closes it at once; sizes are changed by the
// path. Whatever else lies at the path by then, or at the descriptor, stays as it is.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace isthmus::interpose {

// What such a file grows by is a multiple of it.
inline constexpr std::size_t alignment = 4096;

// What a recorder lacked, so that records are missing. Traces hold these numbers.
enum class Lack : std::uint32_t {
    nothing = 0,
    disk = 1,       // room on the disk
    file_size = 2,  // the limit of the process on the size of files
    path = 3,       // a way to its file: privileges, folder or file are gone
    memory = 4,     // for a while: memory, address space, a descriptor
};

// Makes a file by `make(path)` under a name that no other has in the folder: PROCESS-NUMBER and the suffix. A process
// that executes another program keeps its number, and processes of several containers may have the same.
template <typename Make>
auto make_named(const std::string& folder, const char* suffix, const Make& make) {
    for (int number = 0;; ++number) {
        errno = 0;
        auto made = make(folder + "/" + std::to_string(getpid()) + "-" + std::to_string(number) + suffix);
        constexpr int most = 10'000;
        if (made.ok() || errno != EEXIST || number == most) return made;
    }
}

class OwnFile {
  public:
    // Makes a new file at an absolute path. Fails with call_failed where it exists already or cannot be made.
    static Result<OwnFile> create(const std::string& path);

    // Whether the calling process made it, and not one that this was forked from.
    bool of_this_process() const;
    // Whether pages that were written once can be written again without new room on the disk. Elsewhere a store into a
    // mapped page may end the program, however much was reserved.
    bool in_place() const { return in_place_; }

    struct Mapped {
        std::byte* pages = nullptr;
        std::size_t bytes = 0;
        // Why there are none.
        Lack lack = Lack::nothing;
    };
    // Appends `wanted` bytes of zeros where there is room for them, at least `least`, and maps them. Both are multiples
    // of a page.
    Mapped append(std::size_t least, std::size_t wanted);
    // Cuts off all but the first bytes. Should it fail, readers skip the zeros.
    void cut(std::uint64_t kept) const;
    std::uint64_t bytes() const { return bytes_; }

  private:
    explicit OwnFile(std::string path) : path_(std::move(path)) {}
    bool at_path() const;
    bool is(int descriptor) const;
    Mapped map(int descriptor, std::size_t least, std::size_t wanted) const;

    std::string path_;
    pid_t pid_ = 0;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    bool in_place_ = false;
    std::uint64_t bytes_ = 0;
};

}  // namespace isthmus::interpose
