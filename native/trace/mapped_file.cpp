// A file that grows in memory.
#include "trace/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace isthmus::trace {
namespace {

// The first step; each further one is as large as all before it, up to the largest.
constexpr int first_own_descriptor = 3;
constexpr std::size_t first_window = std::size_t{1} << 20;
constexpr std::size_t largest_window = std::size_t{32} << 20;

// Lets pages be there before they are written to: one call for many takes the traced program 2 us a page, a fault in
// the midst of its work up to 11 us. Systems before Linux 5.14 know nothing of it and leave it at faults.
void populate(std::byte* pages, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    constexpr int advice = MADV_POPULATE_WRITE;
#else
    constexpr int advice = 23;
#endif
    [[maybe_unused]] const int unknown = madvise(pages, bytes, advice);
}

}  // namespace

Result<MappedFile> MappedFile::create(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        return Status(Code::call_failed, path + " cannot be made: " + std::strerror(errno));
    }
    // Where the program runs without standard streams, what it writes to them must not land here.
    const int above = fcntl(descriptor, F_DUPFD_CLOEXEC, first_own_descriptor);
    close(descriptor);
    if (above < 0) return Status(Code::call_failed, path + " cannot be kept open: " + std::strerror(errno));
    return MappedFile(above);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : descriptor_(other.descriptor_),
      finished_(other.finished_),
      full_(other.full_),
      window_(other.window_),
      window_bytes_(other.window_bytes_),
      used_of_window_(other.used_of_window_),
      file_bytes_(other.file_bytes_) {
    other.finished_ = true;
}

std::byte* MappedFile::claim(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (finished_ || full_) return nullptr;
    if (window_bytes_ - used_of_window_ < bytes && !grow(bytes)) {
        full_ = true;
        return nullptr;
    }
    std::byte* claimed = window_ + used_of_window_;
    used_of_window_ += bytes;
    populate(claimed, bytes);
    return claimed;
}

// The rest of the window before stays zero, which readers skip.
bool MappedFile::grow(std::size_t bytes) {
    const std::size_t doubled = std::clamp<std::size_t>(file_bytes_, first_window, largest_window);
    const std::size_t wanted = std::max(bytes, doubled);
    // A page without room behind it would end the program when it is touched.
    if (posix_fallocate(descriptor_, static_cast<off_t>(file_bytes_), static_cast<off_t>(wanted)) != 0) return false;
    void* mapped =
        mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(file_bytes_));
    if (mapped == MAP_FAILED) return false;
    window_ = static_cast<std::byte*>(mapped);
    window_bytes_ = wanted;
    used_of_window_ = 0;
    file_bytes_ += wanted;
    return true;
}

void MappedFile::finish() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    const std::uint64_t kept = file_bytes_ - (window_bytes_ - used_of_window_);
    // What is cut off was claimed by nobody. Should it fail, readers skip the zeros.
    [[maybe_unused]] const int failed = ftruncate(descriptor_, static_cast<off_t>(kept));
}

}  // namespace isthmus::trace
