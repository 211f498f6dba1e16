// Page-locked memory of the fake CUDA driver, from the size on at which a real one's calls are known: shared memory
// without a file, whose pages are got and cleared one by one, and which children of a fork share (RssShmem of driver
// 570).
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

namespace fake {

constexpr std::size_t least_mapped_bytes = std::size_t{1} << 20;

class HostPages {
  public:
    // Null where the system has none. With FAKE_CUDA_DONTFORK children get none of it, with FAKE_CUDA_ZERO_DEVICE it is
    // mapped from /dev/zero.
    void* take(std::size_t bytes) {
        constexpr std::size_t alignment = std::size_t{2} << 20;
        const std::size_t rounded = (bytes + page - 1) / page * page, reserved = rounded + alignment;
        void* const range = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) return nullptr;
        const auto first = reinterpret_cast<std::uintptr_t>(range);
        void* const at = reinterpret_cast<void*>((first + alignment - 1) / alignment * alignment);
        const bool has_device = std::getenv("FAKE_CUDA_ZERO_DEVICE") != nullptr;
        const int device = has_device ? open("/dev/zero", O_RDWR) : -1;
        const int flags = MAP_SHARED | MAP_FIXED | (has_device ? 0 : MAP_ANONYMOUS);
        void* const memory = mmap(at, rounded, PROT_READ | PROT_WRITE, flags, device, 0);
        if (has_device) close(device);
        if (memory == MAP_FAILED) return munmap(range, reserved), nullptr;
        if (std::getenv("FAKE_CUDA_DONTFORK") != nullptr) madvise(memory, rounded, MADV_DONTFORK);
        lock(static_cast<std::byte*>(memory), rounded);
        ranges_[memory] = {range, reserved};
        return memory;
    }
    // Whether it was taken here.
    bool give(void* memory) {
        const auto found = ranges_.find(memory);
        if (found == ranges_.end()) return false;
        munmap(found->second.begin, found->second.bytes);
        ranges_.erase(found);
        return true;
    }
    std::size_t found_bytes() const { return found_bytes_; }

  private:
    static constexpr std::size_t page = 4096;
    struct Range {
        void* begin;
        std::size_t bytes;
    };
    void lock(std::byte* memory, std::size_t bytes) {
        std::vector<unsigned char> is_there(bytes / page);
        found_bytes_ = 0;
        if (mincore(memory, bytes, is_there.data()) != 0) return;
        for (std::size_t i = 0; i < is_there.size(); ++i) {
            if ((is_there[i] & 1) != 0) found_bytes_ += page;
            auto* const byte = reinterpret_cast<volatile unsigned char*>(memory + i * page);
            *byte = *byte;
        }
    }
    std::map<void*, Range> ranges_;
    std::size_t found_bytes_ = 0;  // that were there before the latest block was locked
};
// Never destroyed, as memory.
inline HostPages& host_pages = *new HostPages;

}  // namespace fake
