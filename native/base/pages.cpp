// Host memory as programs get it: anonymous pages, ordinary or huge, or the C library's.
#include "base/pages.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/slices.hpp"

namespace isthmus {
namespace {

#if !defined(MADV_POPULATE_WRITE)
constexpr int MADV_POPULATE_WRITE = 23;
#endif

// Threads that ask the kernel for pages hold each other up: on Linux 6.18, with 16 processors, 1 GiB in huge pages
// takes four threads 43 ms, sixteen 117, and sixteen that write to it 19 (benchmarks/bare_pages.cpp).
constexpr std::size_t most_threads_that_ask = 4;

void populate_alone(std::byte* data, std::size_t bytes) {
    if (bytes == 0) return;
    const PagesAround pages(data, bytes);
    (void)madvise(pages.begin, pages.bytes, MADV_POPULATE_WRITE);
}

}  // namespace

Result<PageMemory> PageMemory::allocate(std::size_t bytes, PageSize size) {
    if (bytes > SIZE_MAX - 2 * huge_page) return invalid(std::to_string(bytes) + " bytes exceed the address space");
    const std::size_t mapped = bytes + huge_page;
    void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return Status(Code::out_of_memory,
                      "mmap of " + std::to_string(mapped) + " bytes failed: " + std::strerror(errno));
    }
    auto* begin = static_cast<std::byte*>(mapping);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    auto* data = begin + (huge_page - address % huge_page) % huge_page;
    // Advice may be refused (a kernel without transparent huge pages); the memory is usable all the same.
    madvise(data, bytes, size == PageSize::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return PageMemory(data, bytes, begin, mapped);
}

PageMemory::PageMemory(PageMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)) {}

PageMemory& PageMemory::operator=(PageMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    return *this;
}

PageMemory::~PageMemory() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

HostBlock::HostBlock(Source source, std::size_t bytes) : source_(source), bytes_(bytes) {
    if (source == Source::malloc) {
        // glibc raises the size from which it asks the system each time to that of the largest block it was given back,
        // up to 32 MiB with its own header: reached at once, the order in which sizes are measured does not matter.
        static std::once_flag once;
        std::call_once(once, [] {
            void* volatile block = std::malloc((std::size_t{32} << 20) - (std::size_t{64} << 10));
            std::free(block);
        });
    }
}

Status HostBlock::acquire() {
    if (source_ == Source::malloc) {
        recycled_ = static_cast<std::byte*>(std::malloc(bytes_));
        if (recycled_ != nullptr) return {};
        return {Code::out_of_memory, "malloc of " + std::to_string(bytes_) + " bytes failed"};
    }
    ISTHMUS_TRY_ASSIGN(pages,
                       PageMemory::allocate(bytes_, source_ == Source::huge ? PageSize::huge : PageSize::ordinary));
    pages_.emplace(std::move(pages));
    return {};
}

void HostBlock::leave() {
    // The addresses stay taken; what no device has goes back to the system.
    if (pages_) (void)madvise(pages_->data(), pages_->bytes(), MADV_DONTNEED);
    static_cast<void>(new std::optional<PageMemory>(std::move(pages_)));
    pages_.reset();
    recycled_ = nullptr;
}

void HostBlock::release() {
    pages_.reset();
    std::free(std::exchange(recycled_, nullptr));
}

void touch_pages_alone(std::byte* data, std::size_t bytes) {
    const auto touch = [&](std::size_t at) { *static_cast<volatile std::byte*>(data + at) = std::byte{1}; };
    for (std::size_t at = 0; at < bytes; at += least_page) touch(at);
    // Memory that begins within a page ends in another one.
    if (bytes != 0) touch(bytes - 1);
}

void touch_pages(std::byte* data, std::size_t bytes) {
    for_each_slice_of_huge_pages(data, bytes, touch_pages_alone);
}

void populate_pages(std::byte* data, std::size_t bytes) {
    for_each_slice_of_huge_pages(data, bytes, populate_alone, most_threads_that_ask);
}

std::vector<int> nodes_of_pages(const std::byte* data, std::size_t bytes, std::size_t count) {
    const std::size_t pages = std::max(bytes / least_page, std::size_t{1});
    count = std::min(count, pages);
    std::vector<const void*> addresses(count);
    for (std::size_t i = 0; i < count; ++i) addresses[i] = data + i * pages / count * least_page;
    std::vector<int> nodes(count, -1);
    // With no target nodes this only asks; numa(7) describes the call, which glibc does not wrap.
    if (syscall(SYS_move_pages, 0, count, addresses.data(), nullptr, nodes.data(), 0) != 0) nodes.assign(count, -1);
    for (int& node : nodes) node = std::max(node, -1);
    return nodes;
}

// The kernel reads the word, without a signal, before it looks at what to do with it, and that is nothing that exists:
// as Abseil's AddressIsReadable does, in a tenth of what process_vm_readv takes. Where the call is forbidden, memory is
// believed to be there. Address 0 is no address to the kernel, and nothing is in its page.
bool is_readable(std::uintptr_t address) {
    if (address < least_page) return false;
    constexpr long no_such_thing_to_do = -1;
    constexpr std::uintptr_t word = sizeof(std::uint64_t);
    const long done = syscall(SYS_rt_sigprocmask, no_such_thing_to_do, address / word * word, nullptr, word);
    return done == 0 || errno != EFAULT;
}

bool is_mapped(std::uintptr_t first, std::size_t bytes) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const PagesAround pages(reinterpret_cast<const std::byte*>(first), bytes);
    // It writes nothing that is not to be written, and says where pages are missing.
    if (msync(pages.begin, pages.bytes, MS_ASYNC) != 0) return false;
    return is_readable(first) && is_readable(first + bytes - 1);
}

}  // namespace isthmus
