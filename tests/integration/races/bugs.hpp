// Public bugs of asynchronous copies, rebuilt from their descriptions, each as it was reported and as it was fixed.
//
//   PROGRAM NAME|all plain|fixed [REACH]
//
// prints a line a bug: its name, and whether its data were right or wrong. Where a kernel was still running in the
// report, a stream is busy here, or waits until the host has done what came too early, so that the data are wrong each
// time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "tests/integration/accelerate/driver.hpp"

inline constexpr std::size_t block_bytes = 256 << 10;

enum class Version { plain, fixed };

class OwnStream {
  public:
    OwnStream() { expect(driver->cuStreamCreate(&stream_, non_blocking) == success); }
    ~OwnStream() { driver->cuStreamDestroy(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    operator Stream() const { return stream_; }
    void synchronize() const { expect(driver->cuStreamSynchronize(stream_) == success); }

  private:
    static constexpr unsigned non_blocking = 1;
    Stream stream_ = nullptr;
};

// Recorded on a stream as it is at that moment.
class OwnEvent {
  public:
    OwnEvent() { expect(driver->cuEventCreate(&event_, without_times) == success); }
    ~OwnEvent() { driver->cuEventDestroy(event_); }
    OwnEvent(const OwnEvent&) = delete;
    OwnEvent& operator=(const OwnEvent&) = delete;
    void record(Stream stream) const { expect(driver->cuEventRecord(event_, stream) == success); }
    void order_before(Stream stream) const { expect(driver->cuStreamWaitEvent(stream, event_, 0) == success); }
    void synchronize() const { expect(driver->cuEventSynchronize(event_) == success); }

  private:
    static constexpr unsigned without_times = 2;
    Event event_ = nullptr;
};

// Keeps a stream from what it is given next, as a long kernel does, until `end`. No memory may be allocated or freed
// meanwhile: a driver may wait for the stream then.
class LongKernel {
  public:
    explicit LongKernel(Stream stream) {
        std::memset(flag_.data(), 0, sizeof(std::uint32_t));
        expect(driver->cuStreamWaitValue32(stream, at(flag_.data()), 1, at_least) == success);
    }
    ~LongKernel() { end(); }
    LongKernel(const LongKernel&) = delete;
    LongKernel& operator=(const LongKernel&) = delete;
    void end() { std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flag_.data())).store(1); }

  private:
    static constexpr unsigned at_least = 0;
    HostBlock flag_{4096, true};
};

// Keeps a stream from what it is given next for milliseconds, without a wait that the program ends: it is busy with
// copies, in the direction that the program itself has no copy in.
class LongCopies {
  public:
    enum class Direction { to_device, to_host };
    LongCopies(Stream stream, Direction direction) {
        for (int i = 0; i < copies; ++i) {
            expect((direction == Direction::to_device
                        ? driver->cuMemcpyHtoDAsync(device_.address, host_.data(), bytes, stream)
                        : driver->cuMemcpyDtoHAsync(host_.data(), device_.address, bytes, stream)) == success);
        }
    }

  private:
    static constexpr std::size_t bytes = std::size_t{32} << 20;
    static constexpr int copies = 8;
    Block device_{bytes};
    HostBlock host_{bytes, true};
};

inline void fill(HostBlock& block, int value) {
    std::memset(block.data(), value, block_bytes);
}
inline void clear(const Block& block) {
    expect(driver->cuMemsetD8Async(block.address, 0, block_bytes, nullptr) == success);
    expect(driver->cuStreamSynchronize(nullptr) == success);
}
inline void to_device(const Block& to, HostBlock& from, Stream stream) {
    expect(driver->cuMemcpyHtoDAsync(to.address, from.data(), block_bytes, stream) == success);
}
inline void to_host(HostBlock& to, const Block& from, Stream stream) {
    expect(driver->cuMemcpyDtoHAsync(to.data(), from.address, block_bytes, stream) == success);
}
inline void set(const Block& block, unsigned char value, Stream stream) {
    expect(driver->cuMemsetD8Async(block.address, value, block_bytes, stream) == success);
}
inline bool holds(const std::byte* data, int value) {
    return std::all_of(data, data + block_bytes, [value](std::byte each) { return each == std::byte(value); });
}
inline bool holds(const Block& block, int value) {
    std::vector<std::byte> data(block_bytes);
    fetch(data.data(), block.address, block_bytes);
    return holds(data.data(), value);
}

struct Bug {
    std::string_view name;
    bool (*is_right)(Version);
};
#define BUG(name)      \
    Bug {              \
#name, &(name) \
    }

inline int run_bugs(int count, char** words, std::span<const Bug> bugs) {
    const std::string_view name = count > 1 ? words[1] : "all", version = count > 2 ? words[2] : "plain";
    if (begin_driver(count > 3 ? words[3] : "dlsym") == nullptr) return 77;
    // The first fill may load what fills, for which a driver may wait for all streams.
    clear(Block(block_bytes));
    for (const Bug& bug : bugs) {
        if (name != "all" && name != bug.name) continue;
        const bool is_right = bug.is_right(version == "fixed" ? Version::fixed : Version::plain);
        std::printf("%s %s\n", bug.name.data(), is_right ? "right" : "wrong");
    }
    // Calls that failed, not data that are wrong.
    return wrong != 0 ? 1 : 0;
}
