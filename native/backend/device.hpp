// The seam: what a device can do, whatever its vendor. cuda/, opencl/ and host/ implement it; one contract suite
// (tests/contract) holds them to the pre- and postconditions stated here.
//
// Many files include this, so that what only some of them need has headers of its own: device_info.hpp, launch.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backend/layout.hpp"
#include "backend/region.hpp"
#include "backend/stream.hpp"
#include "base/pattern.hpp"
#include "base/status.hpp"

namespace isthmus {

struct DeviceInfo;  // backend/device_info.hpp
struct LinkReading;
struct PeerReading;
struct KernelArgument;              // backend/launch.hpp
struct KernelBlocks;                // backend/kernel_blocks.hpp
enum class KernelId : std::size_t;  // kernels/table.hpp

// What the driver knows of the memory at an address of the process.
struct KnownMemory {
    // pageable where the driver knows nothing; pinned for all that is page-locked; managed; device.
    MemoryKind kind = MemoryKind::pageable;
    int device = -1;  // its index, of device memory and of managed memory
    // All addresses from begin to before end are of one allocation, or of none where nothing is known; empty where the
    // driver cannot say.
    std::uintptr_t begin = 0, end = 0;
    std::uintptr_t kernel_address = 0;  // where kernels find what was asked about; 0 where the driver does not say
    std::uintptr_t context = 0;         // what it belongs to, as context_handle(); 0 where every context has it
};

// Copies of pieces that were described to the driver beforehand, to be started by one call, any number of times. They
// live no longer than the memory that they concern.
class PreparedCopies {
  public:
    virtual ~PreparedCopies() = default;
    // Several calls may be in flight on one stream, and on that alone.
    virtual Status enqueue(Stream& stream) = 0;
};

// What a thread had before it entered a device: see Device::enter.
struct Before {
    void* context = nullptr;
};

// A device with one context. All functions may be called from several threads at once unless they say otherwise, each
// thread having called bind_thread() once.
class Device {
  public:
    virtual ~Device() = default;

    virtual const DeviceInfo& info() const = 0;
    virtual LinkReading read_link() = 0;
    virtual Result<std::size_t> free_bytes() = 0;
    // Why this device cannot have memory of this kind; nothing when it can.
    virtual std::optional<std::string> why_not(MemoryKind kind) const = 0;
    // Why prefetching managed memory would show nothing; nothing when it moves pages.
    virtual std::optional<std::string> why_no_prefetch() const = 0;
    // Why pages of managed memory do not move to the side that touches them; nothing when they do.
    virtual std::optional<std::string> why_no_migration() const = 0;
    // Why advice on managed memory would change nothing; nothing when the driver takes it.
    virtual std::optional<std::string> why_no_advice() const = 0;
    // Why kernels cannot compute on 64-bit floats; nothing when they can.
    virtual std::optional<std::string> why_no_doubles() const { return std::nullopt; }
    // Why memory of this device cannot be copied to that of the other one; nothing when it can.
    virtual std::optional<std::string> why_no_peer(const Device& other) const = 0;
    // What is between this device and the other one.
    virtual PeerReading read_peer(const Device& other) const;
    // Another device of the backend by its index. Fails with unsupported where devices of the backend do not copy to
    // each other.
    virtual Result<std::shared_ptr<Device>> open_other(int index) const;
    // Why kernels of this device cannot read and write the other one's memory where it is; nothing when they can.
    virtual std::optional<std::string> why_no_peer_reach(const Device& other) const = 0;
    // Why kernels cannot read and write memory of this kind where it is; nothing when they can.
    virtual std::optional<std::string> why_no_reach(MemoryKind kind) const = 0;
    bool kernels_reach(MemoryKind kind) const { return !why_no_reach(kind); }
    // Whether enqueueing a copy from or to this kind of memory occupies the calling thread until the copy is nearly
    // done. Such copies are never put behind a gate.
    virtual bool copy_blocks(MemoryKind kind) const = 0;

    // A place for memory, with nothing in it yet. For `registered`, `pages` is ordinary memory of the caller to lock,
    // which outlives what is returned; without it the place has pages of its own, from prepare() on.
    virtual Result<std::unique_ptr<Allocation>> reserve(MemoryKind kind, std::size_t bytes,
                                                        std::byte* pages = nullptr) = 0;
    // Memory that is held and there: pages of host kinds are touched, and lie where the caller's memory policy wants
    // them; device memory is more than a promise.
    Result<std::unique_ptr<Allocation>> allocate(MemoryKind kind, std::size_t bytes);
    // Held likewise, without a command on any stream, as others of the same queue may be held at the time: its pages
    // may not be there yet.
    Result<std::unique_ptr<Allocation>> hold(MemoryKind kind, std::size_t bytes);
    // Whether memory of this kind is only promised until it is first used.
    virtual bool allocates_late(MemoryKind kind) const { return is_pageable(kind) || kind == MemoryKind::managed; }
    virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
    virtual Result<std::unique_ptr<Event>> create_event() = 0;
    // One that seconds_between() is never asked about, which may cost the device less.
    virtual Result<std::unique_ptr<Event>> create_untimed_event() { return create_event(); }
    // Closes one gate on all of `streams`.
    virtual Result<std::unique_ptr<Gate>> close_gate(std::span<Stream* const> streams) = 0;
    virtual Status bind_thread() = 0;
    // For callers whose thread may be another library's: enter makes the device current and returns what was current
    // before, which leave makes current again. See Binding.
    virtual Result<Before> enter() { return Before(); }
    virtual void leave(Before before) noexcept { static_cast<void>(before); }
    // What memory and streams of callers must belong to: CUcontext, cl_context; 0 where there is no such thing.
    virtual std::uintptr_t context_handle() const { return 0; }

    // Whether the device's own copies refuse what reaches beyond an allocation, as drivers do; if not, it is looked for
    // before every copy.
    virtual bool refuses_overruns() const { return true; }

    // What is at an address of the process: of memory that this library did not allocate, too. Costs a call of the
    // driver. Where the device's memory has no addresses (OpenCL), all but SVM is pageable.
    virtual Result<KnownMemory> identify(std::uintptr_t address) = 0;
    // Whether memory of the device at an address was mapped there by the program (cuMemMap), so that a copy may go on
    // into what is mapped behind it. Drivers refuse copies of several allocations of any other kind.
    virtual bool is_mapped(std::uintptr_t /*address*/) { return false; }
    // A view of memory that somebody else owns and keeps alive: of one of the kinds that identify() names. For device
    // memory without addresses `address` is the driver's handle (cl_mem), which is retained. acquire and release of it
    // fail. Fails with invalid_argument where the handle is not one of this device. `kernel_address` is what identify()
    // said, which saves asking the driver for it.
    virtual Result<std::unique_ptr<Allocation>> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes,
                                                       std::uintptr_t kernel_address) = 0;
    Result<std::unique_ptr<Allocation>> borrow(MemoryKind kind, std::uintptr_t address, std::size_t bytes) {
        return borrow(kind, address, bytes, 0);
    }
    // A stream that somebody else owns, and keeps until all has ended that it was given here: CUstream (0 and 1 are the
    // legacy default stream, 2 the default stream of whichever thread uses it), cl_command_queue, what handle() of a
    // stream says. Fails with invalid_argument where there are no such streams, or it belongs to another context; with
    // unsupported where it is recording a graph.
    virtual Result<std::unique_ptr<Stream>> borrow_stream(std::uintptr_t handle) = 0;
    // What `stream` is given from now on begins after what `event` was last recorded behind has ended. Precondition: it
    // was recorded.
    virtual Status wait(Stream& stream, Event& event) = 0;
    // Why streams and threads cannot wait for each other; nothing when they can.
    virtual std::optional<std::string> why_no_rendezvous() const = 0;
    // Fails with out_of_memory when streams have thousands of them to pass.
    virtual Result<std::unique_ptr<Rendezvous>> create_rendezvous() = 0;
    Result<std::unique_ptr<Latch>> close_latch(Stream& stream);

    // Makes host() of a host-side kind valid and up to date, or hands the memory back. For managed memory the pages may
    // migrate. Both synchronous; streams that use the memory must be idle.
    virtual Status begin_host_access(Allocation& memory) = 0;
    virtual Status end_host_access(Allocation& memory) = 0;

    // Enqueues. Exactly one side is `device` or both are; sizes are equal and within their allocations. Fails with
    // unsupported for `mapped` memory that only kernels reach. Device memory may be another device's, if this one's
    // why_no_peer has no objection; of two devices either one copies, which is the one that the stream is of.
    virtual Status copy(Stream& stream, Region destination, Region source) = 0;
    // Copies between memory of the host and of the device that callers own, by their addresses, and returns when all
    // has arrived: the same as borrow(), copy() and synchronize(), and for small copies cheaper. `host` is what
    // identify() said of the host's side, or pageable if it was not asked: then it may be page-locked all the same.
    virtual Status copy_now(Stream& stream, Side to, std::uintptr_t destination, std::uintptr_t source,
                            std::size_t bytes, MemoryKind host);
    // Pieces, from one side to the other, of layouts that were checked. The driver's 2-D or 3-D copy: regular layouts
    // whose slice pitches are multiples of their pitches, else fails with unsupported.
    virtual Status copy_section(Stream& stream, const Layout& destination, const Layout& source,
                                const Extent& extent) = 0;
    // Whether kernels start without being loaded first. Loading waits until all work in the context has ended,
    // on all streams, and whatever calls the driver meanwhile waits with it.
    virtual bool has_kernels() { return true; }
    virtual Status load_kernels() { return {}; }
    // Starts a kernel of kernels/table.hpp; launch() of backend/launch.hpp holds callers to its parameters. Regions are
    // of device memory and of kinds that kernels reach, and keep the kernel's rules; one without an allocation is a
    // null pointer. Fails with unsupported for memory that kernels cannot reach, and for a kernel that needs 64-bit
    // floats where why_no_doubles() objects. Kernels that copy get at most `most_blocks` blocks of copy_threads, if
    // that is not 0; the host backend, which has one thread, takes no notice.
    virtual Status launch(Stream& stream, KernelId kernel, std::span<const KernelArgument> arguments,
                          std::uint32_t most_blocks) = 0;
    // A kernel moves the units. `table` is device memory with the offsets of scattered layouts, those of the
    // destination first; without such, empty. A layout may count from before its allocation as long as the units lie
    // within: then its offset is the difference modulo 2^64. It gets no more than `blocks`, as these suit 16 bytes a
    // unit.
    Status copy_pieces(Stream& stream, const Layout& destination, const Layout& source, const Extent& extent,
                       const Units& units, Region table, const KernelBlocks& blocks);
    // Why there is no call that takes many copies at once, and why copies cannot be recorded as a graph; nothing when
    // there is, and they can.
    virtual std::optional<std::string> why_no_batch() const = 0;
    virtual std::optional<std::string> why_no_graph() const = 0;
    // One copy a piece, in one call of the driver, in any order.
    virtual Result<std::unique_ptr<PreparedCopies>> prepare_batch(const Layout& destination, const Layout& source,
                                                                  const Extent& extent) = 0;
    // One copy a piece, recorded on a stream as a graph.
    virtual Result<std::unique_ptr<PreparedCopies>> prepare_graph(const Layout& destination, const Layout& source,
                                                                  const Extent& extent) = 0;
    // Migrates the pages of managed memory to one side.
    virtual Status prefetch(Stream& stream, Region region, Side side) = 0;
    // Gives advice on managed memory, or takes it back. Synchronous; it moves nothing by itself.
    virtual Status advise(Allocation& memory, Advice advice, bool given) = 0;
    // For device memory.
    virtual Status set_bytes(Stream& stream, Region region, std::uint8_t value) = 0;
    // Synchronous; for device and managed memory, and for kinds that kernels reach. first_word counts from the start of
    // the region.
    virtual Result<Mismatch> verify_pattern(Stream& stream, Region region, std::uint64_t seed) = 0;
    virtual Status record(Event& event, Stream& stream) = 0;
    // Precondition: it was recorded. Whether all that its stream held before has ended; waits for nothing.
    virtual Result<bool> has_passed(Event& event) = 0;
    // Precondition: both were recorded and their streams synchronised. Seconds on the device's clock; the events may
    // come from different streams.
    virtual Result<double> seconds_between(Event& start, Event& stop) = 0;
};

// Makes a device current for the calling thread, and afterwards what was current before.
class Binding {
  public:
    explicit Binding(Device& device) : device_(device), previous_(device.enter()) {}
    ~Binding() {
        if (previous_.ok()) device_.leave(previous_.value());
    }
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;
    Status status() { return previous_.ok() ? Status() : previous_.take_status(); }

  private:
    Device& device_;
    Result<Before> previous_;
};

}  // namespace isthmus
