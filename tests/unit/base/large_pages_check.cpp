// Memory where the kernel's pages are of 64 KiB, as on some ARM systems: played here by refusing what such a kernel
// does.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/fault_ahead.hpp"
#include "base/memory/access.hpp"
#include "base/pages.hpp"
#include "interpose/mapped_file.hpp"

namespace {

constexpr std::size_t page = std::size_t{64} << 10;
int refused = 0;

template <typename Number>
[[maybe_unused]] long kernel(long call, Number place, auto... words) {
    if (reinterpret_cast<std::uintptr_t>(place) % page == 0) return syscall(call, place, words...);
    ++refused;
    errno = EINVAL;
    return -1;
}

}  // namespace

// Instead of the C library's own, but for sanitizers, which use them before main begins.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
int getpagesize() noexcept {
    return page;
}
int madvise(void* begin, std::size_t bytes, int advice) noexcept {
    return static_cast<int>(kernel(SYS_madvise, begin, bytes, advice));
}
int msync(void* begin, std::size_t bytes, int flags) {
    return static_cast<int>(kernel(SYS_msync, begin, bytes, flags));
}
int mincore(void* begin, std::size_t bytes, unsigned char* resident) noexcept {
    return static_cast<int>(kernel(SYS_mincore, begin, bytes, resident));
}
// Without giving back what is around: less than a page of addresses.
void* mmap(void*, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    if (offset % page != 0) {
        ++refused;
        errno = EINVAL;
        return MAP_FAILED;
    }
    const long room = syscall(SYS_mmap, nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return reinterpret_cast<void*>(syscall(SYS_mmap, (static_cast<std::size_t>(room) + page - 1) / page * page, bytes,
                                           protection, flags | MAP_FIXED, file, offset));
}
}
#endif

namespace {

using namespace isthmus;

int wrong = 0;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("wrong: %s\n", what);
    ++wrong;
}

void check_memory() {
    auto memory = PageMemory::allocate(std::size_t{8} << 20, PageSize::ordinary);
    std::byte* const data = memory.value().data();
    expect(FaultAhead::is_worthwhile(data + least_page, memory.value().bytes() - least_page), "nothing is there yet");
    const auto within = reinterpret_cast<std::uintptr_t>(data) + 3 * least_page + 5;
    expect(is_mapped(within, 2 * page), "memory from within a page on is mapped");
    populate_pages(data + 3 * least_page, page);
    expect(make_accessible(Access::write, data + 5 * page + least_page, page),
           "memory from within a page on is written");
}

// It grows from within a page on, where a record was no multiple of one.
void check_file() {
    char folder[] = "/tmp/large_pages.XXXXXX";
    if (mkdtemp(folder) == nullptr) std::abort();
    const std::string path = std::string(folder) + "/file";
    auto file = interpose::MappedFile::create(path);
    constexpr std::size_t window = std::size_t{1} << 20;
    for (const std::size_t bytes : {least_page, window + least_page, 2 * window, least_page}) {
        std::byte* const place = file.value().claim(bytes);
        expect(place != nullptr, "a file grows from within a page on");
        if (place == nullptr) continue;
        expect(place[0] == std::byte{0} && place[bytes - 1] == std::byte{0}, "it is of zeros");
        place[0] = place[bytes - 1] = std::byte{1};
    }
    file.value().finish();
    unlink(path.c_str());
    rmdir(folder);
}

}  // namespace

int main() {
    check_memory();
    check_file();
    expect(refused == 0, "the kernel was asked for what begins at no page");
    if (wrong == 0) std::puts("as described");
    return wrong == 0 ? 0 : 1;
}
