// A file that grows in memory: what is written there is in the file, even if the program is killed the moment after.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "interpose/own_file.hpp"

namespace isthmus::interpose {

class MappedFile {
  public:
    // Makes a new file at an absolute path. Fails with call_failed where it exists already or cannot be made.
    static Result<MappedFile> create(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    // Leaves what is mapped as it is: threads of a foreign program may still be writing.
    ~MappedFile() = default;

    // The next `bytes` of the file, a multiple of a page, all zero and backed by the disk; null where there is no room
    // for them, and from then on: asking again takes long. From any thread.
    std::byte* claim(std::size_t bytes);
    // Writes `bytes` bytes of a record into what was claimed, then `used`, a number of 8 bytes that says that they are
    // valid. False where the disk has no room for them after all. From any thread.
    bool store(std::byte* to, const void* record, std::size_t bytes, std::uint64_t* used, std::uint64_t value) {
        if (careful_) return store_carefully(to, record, bytes, used, value);
        std::memcpy(to, record, bytes);
        // Not before the record itself, as whoever reads the file of a running program sees it.
        std::atomic_ref(*used).store(value, std::memory_order_release);
        return true;
    }
    // Why the last claim or store failed.
    Lack lack() const { return lack_.load(std::memory_order_relaxed); }
    // Cuts off what was never claimed. Claims fail from now on.
    void finish();

  private:
    explicit MappedFile(OwnFile file);
    std::byte* taken(std::size_t bytes);
    bool fail(Lack lack);
    bool store_carefully(std::byte* to, const void* record, std::size_t bytes, std::uint64_t* used,
                         std::uint64_t value);

    std::mutex mutex_;
    OwnFile file_;
    // Whether each store has to be asked for, because it may find no room.
    bool careful_ = false;
    std::atomic<Lack> lack_ = Lack::nothing;
    bool finished_ = false, full_ = false;
    unsigned claims_to_skip_ = 0;
    std::byte* window_ = nullptr;
    std::size_t window_bytes_ = 0, used_of_window_ = 0;
};

}  // namespace isthmus::interpose
