// Memory, streams and threads through which pieces are packed; made once, and used by one transfer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/kernel_blocks.hpp"
#include "backend/layout.hpp"
#include "backend/region.hpp"
#include "backend/stream.hpp"
#include "base/worker_group.hpp"
#include "transfer/pieces/ring_plan.hpp"

namespace isthmus {

class Device;

class Staging {
  public:
    // Holds transfers of `bytes`, with `threads` to pack them, and offsets for `pieces`. The device is bound to the
    // calling thread.
    static Result<std::shared_ptr<Staging>> create(std::shared_ptr<Device> device, std::size_t bytes,
                                                   std::size_t threads, std::size_t pieces,
                                                   const KernelBlocks& blocks = {});
    struct Options {
        std::size_t bytes = 0;   // of the ring
        std::size_t pieces = 0;  // that there are offsets for
        std::size_t threads = 1;
        KernelBlocks blocks;
        WorkerGroup::Options group;
    };
    // Page-locked memory and streams alone: memory on the device and threads are allocated by the caller that first
    // needs them.
    static Result<std::shared_ptr<Staging>> create(std::shared_ptr<Device> device, Options options);
    // What page-locked memory the same options take.
    static std::size_t pinned_bytes(const Options& options);

    Device& device() { return *device_; }
    const std::shared_ptr<Device>& device_handle() const { return device_; }
    std::size_t bytes() const { return host_->bytes(); }
    std::size_t pinned_bytes() const { return host_->bytes() + offsets_->bytes(); }
    std::size_t threads() const { return options_.threads; }
    const KernelBlocks& kernel_blocks() const { return options_.blocks; }
    // Get what is not there yet; fail with out_of_memory, or unsupported where there is room for no thread.
    Status need_device_memory();
    Status need_offsets_on_device();
    Status need_threads();
    // Does a part on each of the first `threads`, and one more, of the number of all, on the caller's, as
    // WorkerGroup::run_with_caller. Once that has timed out, nothing here is to be used any more. Precondition:
    // need_threads() has succeeded.
    Status run(WorkerGroup::Job job, const WorkerGroup::Limit& limit, std::size_t threads = SIZE_MAX);
    // How long a transfer of so many bytes may take, and the words for it.
    static WorkerGroup::Limit limit(std::size_t bytes, std::string doing);
    // Fails once threads, or the device, did not end in time: they may use the memory at any later one.
    Status usable() const;
    // Page-locked, and on the device; that is null before need_device_memory() has succeeded.
    Allocation& host() { return *host_; }
    Allocation* on_device() { return on_device_.get(); }
    // Where in the ring the next copy begins. What arrives from the device goes round all of it, from where the copy
    // before it ended: at full rate the device must not write again to what processors have just read and still hold in
    // their caches.
    std::size_t next_in_ring() const { return next_in_ring_; }
    void leave_ring_at(std::size_t byte) { next_in_ring_ = byte; }
    // For what is no chunk.
    Stream& stream() { return *stream_; }
    // Chunks cross the link on one stream, one after the other: side by side they would share its rate, and all arrive
    // late. What kernels do to them before or after that is done meanwhile on another.
    Stream& copies() { return *copies_; }
    Stream& kernels() { return *kernels_; }
    // Tell of a chunk, by its number, that it may go on to the other stream, and that it has arrived.
    Event& halfway_of(std::size_t chunk) { return *halfway_[chunk % Ring::most_divided_slots]; }
    Event& arrival_of(std::size_t chunk) { return *arrivals_[chunk % Ring::most_divided_slots]; }

    // Enqueues the copy of scattered layouts' offsets to the device; empty where none is scattered. What was sent
    // there before must have been used. Precondition: they fit, from this byte of the table on.
    Result<Region> send_offsets(Stream& stream, const Layout& destination, const Layout& source,
                                std::size_t table_byte = 0);
    // Fail where the offsets, or the pieces themselves, do not fit.
    Status check_offsets(const Layout& destination, const Layout& source);
    Status check_bytes(const Extent& extent) const;

  private:
    Staging(std::shared_ptr<Device> device, Options options)
        : device_(std::move(device)), options_(std::move(options)) {}

    std::shared_ptr<Device> device_;
    Options options_;
    Status lost_;  // why nothing may be used
    std::size_t next_in_ring_ = 0;
    std::unique_ptr<Allocation> host_, on_device_;
    std::unique_ptr<Allocation> offsets_, offsets_on_device_;
    std::unique_ptr<Stream> stream_, copies_, kernels_;
    std::vector<std::unique_ptr<Event>> halfway_, arrivals_;
    std::unique_ptr<WorkerGroup> workers_;
};

}  // namespace isthmus
