// Ways to move pieces between host memory and the device.
#pragma once

#include <memory>

#include "transfer/staging.hpp"

namespace isthmus {

enum class PieceMethod {
    waited_copies,  // one copy a piece, each waited for
    copies,         // one copy a piece, queued
    batch,          // one call of the driver for all copies
    graph,          // copies that were recorded once and are replayed
    section,        // the driver's 2-D or 3-D copy
    whole,          // all from the first to the last piece, with what lies between
    kernel,         // a kernel reads or writes host memory where it is
    device_pack,    // a kernel packs or unpacks on the device, and one copy moves what is packed
    pack,           // one thread packs or unpacks on the host, and one copy moves it; then a kernel, if pieces lie
                    // apart on the device too
    pack_threads,   // the same in chunks, by many threads, while others are on their way
    pack_kernel,    // packed by many threads like this, but kernels read or write the packed pieces over the link
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
    // Fails with invalid_argument for layouts that cannot be, and with unsupported where the device or the layouts rule
    // the method out.
    static Result<std::shared_ptr<PieceCopy>> create(PieceMethod method, const Layout& destination,
                                                     const Layout& source, const Extent& extent,
                                                     std::shared_ptr<Staging> staging,
                                                     std::shared_ptr<const void> owner);

    // Moves all pieces and returns when they have arrived. The device is bound to the calling thread.
    Status run();
    // What crosses the link.
    virtual std::size_t bytes_moved() const { return extent_.bytes(); }

  protected:
    Device& device() { return staging_->device(); }
    bool to_device() const { return is_on_device(destination_.allocation->kind()); }
    const Layout& host_side() const { return to_device() ? source_ : destination_; }
    const Layout& device_side() const { return to_device() ? destination_ : source_; }
    // Enqueues on staging_->stream(), which run() waits for; or does it all.
    virtual Status start() = 0;

    std::shared_ptr<Staging> staging_;
    Extent extent_;
    Layout destination_, source_;

  private:
    std::shared_ptr<const void> owner_;
};

}  // namespace isthmus
