// Methods to move pieces between host memory and the device.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/fair_mutex.hpp"
#include "transfer/pieces/file_bytes.hpp"
#include "transfer/pieces/pack.hpp"
#include "transfer/pieces/staging.hpp"

namespace isthmus {

class Links;

ISTHMUS_ENUM(PieceMethod,
             waited_copies,  // one copy a piece, each waited for
             copies,         // one copy a piece, queued
             batch,          // one call of the driver for all copies
             graph,          // copies that were recorded once and are replayed
             section,        // the driver's 2-D or 3-D copy
             whole,          // all from the first to the last piece, with what is between
             kernel,         // a kernel reads or writes host memory where it is
             device_pack,    // a kernel packs or unpacks on the device, and one copy moves what is packed
             pack,           // one thread packs or unpacks on the host, and one copy moves it; then a kernel, if pieces
                             // are apart on the device too
             pack_threads,   // the same in chunks, by many threads, while others are on their way
             pack_kernel)    // packed by many threads like this, but kernels move the packed pieces over the link

constexpr bool packs_on_threads(PieceMethod method) {
    return method == PieceMethod::pack_threads || method == PieceMethod::pack_kernel;
}

// How threads pack; what is left out suits the size.
struct Packing {
    std::size_t threads = 0;      // of those of the staging memory; 0 for all
    std::size_t chunk_bytes = 0;  // at least 4096; where a third of the ring is less, it is cut smaller
    std::optional<Stores> stores;
    // Whether most of the memory that is written to was never touched; none where that is not known.
    std::optional<bool> clears_pages;
    // Told that somebody else waits for the staging memory, threads stop after some of a large transfer, and run()
    // returns before it has ended.
    const FairMutex* lane_mutex = nullptr;
    // Whether run() returns only when nothing is at work any more, however long that takes, as the driver's own copies
    // do: else it gives up a transfer that is taken for stuck, whose threads may still use the memory.
    bool waits_forever = false;
    // Whether threads ask for each page of the host's memory before they touch it, and the copy fails where that would
    // raise a signal. By those that pack on threads alone.
    bool checks_memory = false;
    // Asked, if there is one, before anything is changed where pieces are written to; a failure is that of run(). By
    // those that pack on threads alone, which are waking up meanwhile.
    std::function<Status()> condition;
    // For a copy to the device by `pack_threads`: what is read in place of the host's memory; the allocation that its
    // side is in. Outlives the copy.
    const FileBytes* file = nullptr;
    // By which other devices chunks may go, too, where `pack_threads` copies them as they are. Outlives the copy.
    Links* links = nullptr;
};

// The memory, and the staging memory but for what packs through it, must be idle before and is idle after run().
class PieceCopy : public std::enable_shared_from_this<PieceCopy> {
  public:
    PieceCopy(const Layout& destination, const Layout& source, const Extent& extent, std::shared_ptr<Staging> staging)
        : staging_(std::move(staging)), extent_(extent), destination_(destination), source_(source) {}
    virtual ~PieceCopy() = default;
    PieceCopy(const PieceCopy&) = delete;
    PieceCopy& operator=(const PieceCopy&) = delete;

    // Does what a program that copies these pieces again and again does once. Exactly one side is `device`. The
    // layouts' offsets must outlive what is returned.
    //
    // `checked`: the caller knows that the layouts can be; finding out takes as long as moving many small pieces.
    // Fails with invalid_argument for layouts that cannot be, and with unsupported where the device or the layouts rule
    // the method out.
    static Result<std::shared_ptr<PieceCopy>> create(PieceMethod method, const Layout& destination,
                                                     const Layout& source, const Extent& extent,
                                                     std::shared_ptr<Staging> staging,
                                                     std::shared_ptr<const void> owner, const Packing& packing = {},
                                                     bool checked = false);

    // Moves all pieces and returns when they have arrived. The device is bound to the calling thread.
    Status run();
    // Whether a run that succeeded has moved all; if not, the next one goes on.
    virtual bool is_complete() const { return true; }
    // How many bytes are known to have arrived, counted from the first on as if the pieces lay side by side; after a
    // run that succeeded and moved all, or one that failed.
    std::size_t bytes_arrived() const { return arrived_bytes_; }
    // What crosses the link.
    virtual std::size_t bytes_moved() const { return extent_.bytes(); }

  protected:
    Device& device() { return staging_->device(); }
    bool to_device() const { return is_on_device(destination_.allocation->kind()); }
    const Layout& host_side() const { return to_device() ? source_ : destination_; }
    const Layout& device_side() const { return to_device() ? destination_ : source_; }
    // Enqueues on staging_->stream(), which run() waits for; or does it all.
    virtual Status start() = 0;
    // Until all that start() has enqueued has ended, also after it has failed.
    virtual Status finish() { return staging_->stream().synchronize(); }

    std::shared_ptr<Staging> staging_;
    Extent extent_;
    Layout destination_, source_;
    std::size_t arrived_bytes_ = 0;

  private:
    std::shared_ptr<const void> owner_;
};

}  // namespace isthmus
