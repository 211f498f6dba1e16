// A file that grows in memory.
#include "interpose/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/pages.hpp"
#include "interpose/undisturbed.hpp"

namespace isthmus::interpose {
namespace {

// The first step; each further one is as large as all before it, up to the largest.
constexpr std::size_t first_window = std::size_t{1} << 20;
constexpr std::size_t largest_window = std::size_t{32} << 20;
// What lacked memory or a descriptor may have some later, but each try costs the program microseconds.
constexpr unsigned skipped_claims = 1000;

// The kernel copies, so that pages without room behind them are an answer and no fault. False where it may not.
bool copy_by_kernel(const iovec* to, const iovec* from, unsigned long pieces, std::size_t bytes) {
    return process_vm_readv(getpid(), to, pieces, from, pieces, 0) == static_cast<ssize_t>(bytes);
}

bool kernel_copies() {
    std::uint64_t from = 1, to = 0;
    const iovec source{&from, sizeof from}, destination{&to, sizeof to};
    return copy_by_kernel(&destination, &source, 1, sizeof from) && to == from;
}

// Lets pages be there before they are written to; false where there is no room for one of them, which would end the
// program when it is touched. One call for many takes the traced program 2 us a page, a fault in the midst of its work
// up to 11 us. Systems before Linux 5.14 know no such call: theirs write a word into each page, by a call that fails
// where a store would fault.
bool populate(std::byte* pages, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    constexpr int advice = MADV_POPULATE_WRITE;
#else
    constexpr int advice = 23;
#endif
    const PagesAround whole(pages, bytes);
    if (madvise(whole.begin, whole.bytes, advice) == 0) return true;
    if (errno != EINVAL) return false;
    for (std::size_t place = 0; place < bytes; place += alignment) {
        auto* word = reinterpret_cast<timespec*>(pages + place);
        if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, word) != 0) return false;
        *word = {};
    }
    return true;
}

}  // namespace

Result<MappedFile> MappedFile::create(const std::string& path) {
    ISTHMUS_TRY_ASSIGN(file, OwnFile::create(path));
    return MappedFile(std::move(file));
}

MappedFile::MappedFile(OwnFile file) : file_(std::move(file)), careful_(!file_.in_place() && kernel_copies()) {}

MappedFile::MappedFile(MappedFile&& other) noexcept : file_(std::move(other.file_)), careful_(other.careful_) {
    other.finished_ = true;
}

bool MappedFile::fail(Lack lack) {
    lack_.store(lack, std::memory_order_relaxed);
    if (lack == Lack::memory) {
        claims_to_skip_ = skipped_claims;
    } else {
        full_ = true;
    }
    return false;
}

std::byte* MappedFile::claim(std::size_t bytes) {
    const Undisturbed undisturbed;
    const std::lock_guard lock(mutex_);
    return taken(bytes);
}

// The rest of the window before stays zero, which readers skip.
std::byte* MappedFile::taken(std::size_t bytes) {
    if (finished_ || full_ || !file_.of_this_process()) return nullptr;
    if (claims_to_skip_ > 0) --claims_to_skip_;
    if (claims_to_skip_ > 0) return nullptr;
    if (window_bytes_ - used_of_window_ < bytes) {
        const std::size_t doubled = std::clamp<std::size_t>(file_.bytes(), first_window, largest_window);
        const OwnFile::Mapped grown = file_.append(bytes, std::max(bytes, doubled));
        if (grown.pages == nullptr) {
            fail(grown.lack);
            return nullptr;
        }
        window_ = grown.pages;
        window_bytes_ = grown.bytes;
        used_of_window_ = 0;
    }
    std::byte* claimed = window_ + used_of_window_;
    if (!populate(claimed, bytes)) {
        fail(Lack::disk);
        return nullptr;
    }
    used_of_window_ += bytes;
    return claimed;
}

bool MappedFile::store_carefully(std::byte* to, const void* record, std::size_t bytes, std::uint64_t* used,
                                 std::uint64_t value) {
    const int reason = errno;
    const std::array destination{iovec{to, bytes}, iovec{used, sizeof value}};
    const std::array source{iovec{const_cast<void*>(record), bytes}, iovec{&value, sizeof value}};
    const bool stored = copy_by_kernel(destination.data(), source.data(), destination.size(), bytes + sizeof value);
    errno = reason;
    if (stored) return true;
    const Undisturbed undisturbed;
    const std::lock_guard lock(mutex_);
    return fail(Lack::disk);
}

void MappedFile::finish() {
    const Undisturbed undisturbed;
    const std::lock_guard lock(mutex_);
    if (finished_ || !file_.of_this_process()) return;
    finished_ = true;
    // What is cut off was claimed by nobody.
    file_.cut(file_.bytes() - (window_bytes_ - used_of_window_));
}

}  // namespace isthmus::interpose
