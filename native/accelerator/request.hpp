// One copy that a program asks its driver for, whichever driver that is: what the library needs to know and to do.
#pragma once

#include <cstddef>
#include <optional>

#include "accelerator/ledger.hpp"
#include "accelerator/options.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::accelerator {

// A driver's return code; 0 is success in CUDA and in OpenCL.
using DriverCode = int;

class Request {
  public:
    Request(const void* site, std::size_t bytes, bool in_one_piece)
        : site_(site), bytes_(bytes), in_one_piece_(in_one_piece) {}
    virtual ~Request() = default;
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    const void* site() const { return site_; }  // where in the program
    std::size_t bytes() const { return bytes_; }
    bool in_one_piece() const { return in_one_piece_; }

    // Why it is the driver's; nothing where the library may make it. All that follows may be called after that alone.
    virtual std::optional<Reason> why_not(const Options& options, Ledger& ledger) = 0;
    // Asked in place of why_not() when the driver has made a part of the copy since an earlier request asked that: the
    // parameters are known to be valid, so only what may have changed is asked. `to_device`: the earlier request's.
    virtual std::optional<Reason> why_not_resume(bool to_device, const Options& options, Ledger& ledger) = 0;
    virtual bool to_device() const = 0;
    // Returns when the earlier work on the stream has ended.
    virtual Status wait() = 0;
    // Asked behind that: why it is the driver's as long as other streams have work.
    virtual std::optional<Reason> why_not_yet() { return {}; }
    // Returns when what the driver was asked for here has ended; false where that is not soon.
    virtual bool has_ended_soon() { return true; }
    // For a copy that cannot be divided: the driver's seconds per byte, by a short part that is copied once more later.
    virtual double probe() { return 0; }
    // The library copies from byte `begin` on, up to the last bytes that are the driver's in any case.
    virtual Outcome by_library(std::size_t begin) = 0;
    virtual std::size_t last_bytes_of_driver() const { return 0; }
    // The last part was made, and is to be made anew.
    virtual void forget_last_part() {}
    // by_library() or queue() failed.
    virtual void failed() {}

    // Page-locked memory in one piece: the driver's rate is the link's, and only a second link makes the copy faster.
    bool is_pinned() const { return is_pinned_; }
    virtual bool is_queued() const { return false; }
    // Whether it can go by several links. Opens other devices the first time.
    virtual bool divides() { return false; }
    // Enqueues it in the order of the program's stream; false where the driver is to copy.
    virtual Result<bool> queue() { return false; }
    // Whether the driver reads back the same bytes.
    virtual Result<bool> same_by_driver() = 0;

  protected:
    bool is_pinned_ = false;  // known when it has been asked why not

  private:
    const void* site_;
    std::size_t bytes_;
    bool in_one_piece_;
};

// same_by_driver() reads back in parts of this size.
inline constexpr std::size_t checked_bytes = std::size_t{4} << 20;

}  // namespace isthmus::accelerator
