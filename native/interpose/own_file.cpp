// The file of a recorder in a foreign program, held by its path and by no descriptor.
#include "interpose/own_file.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/pages.hpp"

namespace isthmus::interpose {
namespace {

constexpr int first_own_descriptor = 3;

// Where the program runs without standard streams, what it writes to them must not land here.
int above_standard_streams(int descriptor) {
    if (descriptor < 0 || descriptor >= first_own_descriptor) return descriptor;
    const int above = fcntl(descriptor, F_DUPFD_CLOEXEC, first_own_descriptor);
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return above;
}

bool writes_in_place(int descriptor) {
    struct statfs found {};
    if (fstatfs(descriptor, &found) != 0) return false;
    constexpr auto xfs = 0x58465342;
    switch (static_cast<std::uint32_t>(found.f_type)) {
        // Of ext2, ext3 and ext4.
        case EXT4_SUPER_MAGIC:
        case xfs:
        case TMPFS_MAGIC:
        case RAMFS_MAGIC: return true;
        default: break;
    }
    // btrfs, also below an overlay, and f2fs do so for files that are marked while they are empty.
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        if (ioctl(descriptor, FS_IOC_SETFLAGS, &flags) == 0) return true;
    }
    return static_cast<std::uint32_t>(found.f_type) == OVERLAYFS_SUPER_MAGIC;
}

// What an error says is lacking; `otherwise` where it says nothing of that.
Lack lack_of(int error, Lack otherwise) {
    switch (error) {
        case ENOSPC:
        case EDQUOT:
        case EIO: return Lack::disk;
        case EFBIG: return Lack::file_size;
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case EAGAIN:
        case EINTR: return Lack::memory;
        default: return otherwise;
    }
}

}  // namespace

Result<OwnFile> OwnFile::create(const std::string& path) {
    const auto failed = [&] {
        const int reason = errno;
        Status status(Code::call_failed, path + " cannot be made: " + std::strerror(reason));
        errno = reason;
        return status;
    };
    OwnFile made(path);
    const int descriptor =
        above_standard_streams(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (descriptor < 0) return failed();
    struct stat found {};
    const bool known = fstat(descriptor, &found) == 0;
    made.in_place_ = writes_in_place(descriptor);
    close(descriptor);
    if (!known) return failed();
    made.pid_ = getpid();
    made.device_ = found.st_dev;
    made.inode_ = found.st_ino;
    return made;
}

bool OwnFile::of_this_process() const {
    return getpid() == pid_;
}

bool OwnFile::at_path() const {
    struct stat found {};
    return lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

bool OwnFile::is(int descriptor) const {
    struct stat found {};
    return fstat(descriptor, &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

OwnFile::Mapped OwnFile::append(std::size_t least, std::size_t wanted) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        const std::uint64_t room = limit.rlim_cur > bytes_ ? (limit.rlim_cur - bytes_) / alignment * alignment : 0;
        if (room < least) return {.lack = Lack::file_size};
        wanted = std::min<std::uint64_t>(wanted, room);
    }
    const int descriptor = above_standard_streams(open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (descriptor < 0) return {.lack = lack_of(errno, Lack::path)};
    if (!is(descriptor)) {
        close(descriptor);
        return {.lack = Lack::path};
    }
    const Mapped mapped = map(descriptor, least, wanted);
    // Somebody else may have closed it meanwhile, and the number may be a file of his.
    if (is(descriptor)) {
        close(descriptor);
    } else if (mapped.pages != nullptr) {
        const PagesAround whole(mapped.pages, mapped.bytes);
        munmap(whole.begin, whole.bytes);
        return {.lack = Lack::memory};
    }
    bytes_ += mapped.bytes;
    return mapped;
}

OwnFile::Mapped OwnFile::map(int descriptor, std::size_t least, std::size_t wanted) const {
    const auto begin = static_cast<off_t>(bytes_);
    // Changes neither size nor contents, whichever file this should be. Where a file system cannot promise room, what
    // is claimed is looked at page by page.
    const auto reserved = [&](std::size_t bytes) {
        const bool done = fallocate(descriptor, FALLOC_FL_KEEP_SIZE, begin, static_cast<off_t>(bytes)) == 0;
        return done || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL || errno == EPERM || errno == EBADF;
    };
    if (!reserved(wanted)) {
        wanted = least;
        if (!reserved(wanted)) return {.lack = lack_of(errno, Lack::disk)};
    }
    if (!at_path()) return {.lack = Lack::path};
    if (truncate(path_.c_str(), begin + static_cast<off_t>(wanted)) != 0) return {.lack = lack_of(errno, Lack::path)};
    // The file may end within a page of the system.
    const std::size_t before = bytes_ % system_page();
    const auto map_bytes = [&](std::size_t bytes) {
        return mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                    begin - static_cast<off_t>(before));
    };
    void* pages = map_bytes(wanted);
    if (pages == MAP_FAILED && wanted > least) {
        wanted = least;
        pages = map_bytes(wanted);
    }
    if (pages == MAP_FAILED) return {.lack = Lack::memory};
    return {.pages = static_cast<std::byte*>(pages) + before, .bytes = wanted};
}

void OwnFile::cut(std::uint64_t kept) const {
    if (!at_path()) return;
    [[maybe_unused]] const int failed = truncate(path_.c_str(), static_cast<off_t>(kept));
}

}  // namespace isthmus::interpose
