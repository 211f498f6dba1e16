// An allocation together with its device, and the synchronous work that prepares and checks its contents.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/region.hpp"
#include "backend/stream.hpp"
#include "base/pattern.hpp"

namespace isthmus {
class Device;
class Session;
}  // namespace isthmus

namespace isthmus::experiment {

// A device that is open for an experiment, with one stream for work that is not timed.
//
// Like Buffer it knows its owners, so that what the core keeps is no Python object: a thread may let go of it at any
// time, and without the interpreter.
class OpenDevice : public std::enable_shared_from_this<OpenDevice> {
  public:
    static Result<std::shared_ptr<OpenDevice>> create(std::shared_ptr<Device> device);

    Device& device() { return *device_; }
    const std::shared_ptr<Device>& device_handle() const { return device_; }
    // Runs `work` on the untimed stream and waits for it; one caller at a time.
    template <typename Work>
    Status run(Work work) {
        const std::lock_guard lock(mutex_);
        Status status = work(*stream_);
        // Also after a failure: what was enqueued before it still uses the caller's memory.
        Status ended = stream_->synchronize();
        return status.ok() ? std::move(ended) : std::move(status);
    }

    // A stream with the events around what is timed on it. There are two, shared by all transfers of the session, of
    // which one runs at a time: hundreds of cases would otherwise hold hundreds of streams.
    struct Track {
        std::unique_ptr<Stream> stream;
        std::unique_ptr<Event> start;
        std::unique_ptr<Event> stop;
    };
    Result<Track*> track(std::size_t index);

    // Memory for what is read back to be checked, shared by all who hold it: getting so much anew takes longer than a
    // check. One caller at a time; the next may replace the contents. Fails with out_of_memory.
    using Scratch = std::shared_ptr<std::vector<std::byte>>;
    Result<Scratch> scratch(std::size_t bytes);

    // Streams for transfers on many threads: one that is idle, or a new one. Those that are given back are kept.
    Result<std::unique_ptr<Stream>> borrow_stream();
    // Precondition: synchronised.
    void give_back(std::unique_ptr<Stream> stream);

    // The library's session for this device, as callers have it, with all its defaults: opened when it is first asked
    // for.
    Result<std::shared_ptr<Session>> copies();

  private:
    OpenDevice(std::shared_ptr<Device> device, std::unique_ptr<Stream> stream)
        : device_(std::move(device)), stream_(std::move(stream)) {}
    std::shared_ptr<Device> device_;
    std::mutex mutex_;
    std::unique_ptr<Stream> stream_;
    std::array<std::unique_ptr<Track>, 2> tracks_;
    std::weak_ptr<std::vector<std::byte>> scratch_;
    std::mutex idle_mutex_;
    std::vector<std::unique_ptr<Stream>> idle_streams_;
    std::shared_ptr<Session> copies_;
};

class Buffer : public std::enable_shared_from_this<Buffer> {
  public:
    static Result<std::shared_ptr<Buffer>> allocate(std::shared_ptr<OpenDevice> session, MemoryKind kind,
                                                    std::size_t bytes);
    // A view of memory of somebody else; as Device::borrow.
    static Result<std::shared_ptr<Buffer>> borrow(std::shared_ptr<OpenDevice> session, MemoryKind kind,
                                                  std::uintptr_t address, std::size_t bytes);

    MemoryKind kind() const { return memory_->kind(); }
    std::size_t bytes() const { return memory_->bytes(); }
    std::uintptr_t handle() const { return memory_->handle(); }
    OpenDevice& session() { return *session_; }
    const std::shared_ptr<OpenDevice>& session_handle() const { return session_; }
    // Fails with invalid_argument when the region leaves the buffer, and with call_failed once the buffer is lost.
    Result<Region> region(std::size_t offset, std::size_t bytes);
    // Says that somebody may use the memory at any time, so that nothing found in it proves anything any more.
    void lose(const Status& reason) noexcept { lost_ = reason.copy(); }

    // For a region of this buffer. Managed memory is filled and checked by the side it is wanted on; other kinds where
    // they are. Write-combined memory is checked by the device, since the CPU reads it at a hundredth of the rate.
    Status fill_pattern(Region region, std::uint64_t seed, Side side = Side::host);
    Status set_bytes(Region region, std::uint8_t value);
    Result<Mismatch> verify_pattern(Region region, std::uint64_t seed, Side side = Side::host);

    // Empties the CPU's caches of a region that the host can address.
    Status evict(Region region);
    // Gives the system back the whole pages of a region of ordinary memory: it is as if it had never been touched.
    Status forget_pages(Region region) const;

    Status read(Region region, std::byte* to);
    Status write(Region region, const std::byte* from);

    // As the functions of Device of the same names.
    Status begin_host_access();
    Status end_host_access();
    Status advise(Advice advice, bool given);
    // The host's address while it has access; fails with unsupported for memory that it cannot address.
    Result<std::byte*> host() const;

    // NUMA nodes of some of its pages; empty for memory that the host cannot address.
    std::vector<int> nodes(std::size_t count);

  private:
    Buffer(std::shared_ptr<OpenDevice> session, std::unique_ptr<Allocation> memory)
        : session_(std::move(session)), memory_(std::move(memory)) {}
    bool lives_on_device(Side side) const {
        return kind() == MemoryKind::device || (kind() == MemoryKind::managed && side == Side::device);
    }
    // Runs `work(bytes of the host, begin, end)` over slices of the region while the host has access.
    template <typename Work>
    Status on_host(Region region, Work work);

    std::shared_ptr<OpenDevice> session_;
    Status lost_;  // why
    std::unique_ptr<Allocation> memory_;
};

}  // namespace isthmus::experiment
