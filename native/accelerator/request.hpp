// One copy that a program asks its driver for, whichever driver that is: what the library needs to know and to do.
#pragma once

#include <cstddef>
#include <optional>

#include "accelerator/ledger.hpp"
#include "accelerator/options.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::accelerator {

// The code of a driver; 0 is success with all of them.
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
    virtual bool to_device() const = 0;
    // Returns when what the copy comes behind has ended.
    virtual Status wait() = 0;
    // Returns when what the driver was asked for here has ended; false where that is not soon.
    virtual bool has_ended_soon() { return true; }
    // Of a copy that the driver makes all of or nothing: how long a byte takes it, by a short part that is copied once
    // more then.
    virtual double probe() { return 0; }
    // By the library: from a byte on, the rest but for what is the driver's in any case.
    virtual Outcome by_library(std::size_t begin) = 0;
    virtual std::size_t last_bytes_of_driver() const { return 0; }
    // That was made, and is to be made anew.
    virtual void forget_last_part() {}
    // That failed.
    virtual void failed() {}

    // Of page-locked memory, and in one piece: the driver's rate is the link's, and there is more than one link. Not
    // waited for where the program does not wait for it.
    bool is_pinned() const { return is_pinned_; }
    virtual bool is_queued() const { return false; }
    // Whether there are several ways for it. Opens other devices the first time.
    virtual bool divides() { return false; }
    // By the library, in the order of the program's stream; false where the driver is to do it.
    virtual Result<bool> queue() { return false; }
    // Whether the driver's copy of the same is the same.
    virtual Result<bool> same_by_driver() = 0;

  protected:
    bool is_pinned_ = false;  // known when it has been asked why not

  private:
    const void* site_;
    std::size_t bytes_;
    bool in_one_piece_;
};

// Copies are compared with the driver's in parts of so many bytes.
inline constexpr std::size_t checked_bytes = std::size_t{4} << 20;

}  // namespace isthmus::accelerator
