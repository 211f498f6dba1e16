// A file that grows in memory: what is written there is in the file, even if the program is killed the moment after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.hpp"

namespace isthmus::trace {

class MappedFile {
  public:
    // Makes a new file. Fails with call_failed where it exists already or cannot be made.
    static Result<MappedFile> create(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    // Leaves what is mapped as it is: threads of a foreign program may still be writing.
    ~MappedFile() = default;

    // The next `bytes` of the file, a multiple of a page, all zero and backed by the disk; null where the disk has no
    // room for them, and from then on: asking again takes long. From any thread.
    std::byte* claim(std::size_t bytes);
    // Cuts off what was never claimed. Claims fail from now on.
    void finish();

  private:
    explicit MappedFile(int descriptor) : descriptor_(descriptor) {}
    bool grow(std::size_t bytes);

    std::mutex mutex_;
    int descriptor_;
    bool finished_ = false, full_ = false;
    std::byte* window_ = nullptr;
    std::size_t window_bytes_ = 0, used_of_window_ = 0;
    std::uint64_t file_bytes_ = 0;
};

}  // namespace isthmus::trace
