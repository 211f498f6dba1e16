// Pages of fresh memory that are put in place: all of them, by any number of threads, and memory stays zeros.
#include "base/memory/fresh_pages.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/memory/huge_file.hpp"

namespace {

using namespace isthmus;

void expect(bool condition, const char* what, std::size_t bytes) {
    if (condition) return;
    std::printf("not so: %s, of %zu bytes\n", what, bytes);
    std::exit(1);
}

// Of a file where one can be made, else without.
void* mapped(std::size_t bytes, int kind) {
    const auto file = kind == MAP_SHARED ? HugeFile::make(bytes) : std::nullopt;
    if (!file) return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, file->descriptor(), 0);
}

void check(std::size_t bytes, std::size_t first, int kind, const FreshPages& pages) {
    const std::size_t all = in_pages(bytes) + first + 2 * huge_page;
    void* const mapping = mapped(all, kind);
    expect(mapping != MAP_FAILED, "there is memory", bytes);
    auto* const data = static_cast<std::byte*>(mapping) + first;
    place_fresh_pages(data, bytes, pages);
    std::vector<unsigned char> is_there(in_pages(bytes) / least_page);
    expect(mincore(data, bytes, is_there.data()) == 0, "the kernel says what is there", bytes);
    for (const unsigned char each : is_there) expect((each & 1) != 0, "every page is there", bytes);
    for (std::size_t i = 0; i < all; i += 512) {
        expect(static_cast<std::byte*>(mapping)[i] == std::byte{0}, "memory is all zeros", bytes);
    }
    // What is shared is shared with children, the other is not.
    if (const pid_t child = fork(); child == 0) {
        data[0] = std::byte{1};
        _exit(0);
    } else {
        waitpid(child, nullptr, 0);
    }
    expect((data[0] == std::byte{1}) == (kind == MAP_SHARED), "children have it as its kind says", bytes);
    munmap(mapping, all);
}

void check_all() {
    for (const std::size_t bytes : {least_page, huge_page, 5 * huge_page + 1}) {
        for (const std::size_t first : {std::size_t{0}, least_page, huge_page - least_page}) {
            for (const int kind : {MAP_SHARED, MAP_PRIVATE}) {
                for (const PageSize size : {PageSize::ordinary, PageSize::huge}) {
                    // Without a limit, with one that nothing keeps, and with one that all keep.
                    for (const double alone : {0.0, 1e-15, 1.0}) {
                        for (const std::size_t threads : {std::size_t{1}, most_slices}) {
                            check(bytes, first, kind, {size, alone, node_of_thread(), threads});
                        }
                    }
                }
            }
        }
    }
}

}  // namespace

int main() {
    check_all();
    errno = 77;
    expect(!HugeFile::make(std::size_t{1} << 63) && errno == 77, "there is no such file, and no error either", 0);
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    expect(!HugeFile::make(huge_page), "none is made beyond a limit", huge_page);
    check_all();
    expect(seconds_per_byte_alone() > 0, "it takes time", tried_alone_bytes);
    // Without huge pages for the process.
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    check_all();
    std::puts("as described");
}
