// A file in memory that may have huge pages, also where the system has none for memory that is shared without a file.
#include "base/memory/huge_file.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include "base/text_file.hpp"

namespace isthmus {
namespace {

// Newer than the headers that the library is built with.
constexpr long call_fsopen = 430, call_fsconfig = 431, call_fsmount = 432, call_close_range = 436;
constexpr unsigned unshare_descriptors = 2;
constexpr unsigned close_at_exec = 1;
enum class Configure : unsigned { text = 1, create = 6 };

// Closes what it has.
class Descriptor {
  public:
    explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }

  private:
    int number_;
};

std::atomic<bool> is_refused = false;

// Each call is asked of the kernel once a block.
bool may_try() {
    rlimit limit{};
    const bool has_limit = getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
    if (has_limit || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0) return false;
    static const bool is_strict = first_line("/proc/sys/vm/overcommit_memory") == "2";
    return !is_strict;
}

bool configure(const Descriptor& system, Configure what, const char* key = nullptr, const char* value = nullptr) {
    return syscall(call_fsconfig, system.number(), static_cast<unsigned>(what), key, value, 0) == 0;
}

// Negative where none can be made.
Descriptor mounted() {
    const Descriptor system(syscall(call_fsopen, "tmpfs", close_at_exec));
    if (system.number() < 0) return Descriptor(-1);
    const bool is_made = configure(system, Configure::text, "huge", "advise") &&
                         configure(system, Configure::text, "size", "0") && configure(system, Configure::create);
    return Descriptor(is_made ? syscall(call_fsmount, system.number(), close_at_exec, 0U) : -1);
}

}  // namespace

std::optional<HugeFile> HugeFile::make(std::size_t bytes) noexcept {
    if (is_refused) return std::nullopt;
    const int reason = errno;
    std::optional<HugeFile> made;
    try {
        if (may_try()) {
            const Descriptor folder = mounted();
            Descriptor file(folder.number() < 0 ? -1
                                                : openat(folder.number(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
            is_refused = file.number() < 0 && errno == EPERM;
            const bool is_sized = file.number() >= 0 && ftruncate(file.number(), static_cast<off_t>(bytes)) == 0;
            if (is_sized) made.emplace(HugeFile(file.release()));
        }
    } catch (const std::bad_alloc&) {
        made.reset();
    }
    errno = reason;
    return made;
}

bool HugeFile::may_be_made() noexcept {
    try {
        return !is_refused && may_try();
    } catch (const std::bad_alloc&) {
        return false;
    }
}

HugeFile::~HugeFile() {
    const int reason = errno;
    if (file_ >= 0) close(file_);
    errno = reason;
}

bool leave_descriptors() noexcept {
    return syscall(call_close_range, 0U, ~0U, unshare_descriptors) == 0;
}

}  // namespace isthmus
