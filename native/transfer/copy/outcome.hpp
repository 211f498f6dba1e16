// How a copy ended: how that is made of statuses, and when another method may take over.
#pragma once

#include <cstddef>
#include <utility>

#include "base/status.hpp"

namespace isthmus {

// How a copy ended, and how much of it had arrived by then.
struct Outcome {
    Outcome() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): reads as a return
    Outcome(Status how, std::size_t completed = 0) : status(std::move(how)), bytes_completed(completed) {}

    Status status;
    std::size_t bytes_completed = 0;
};

// With the first failure, after which nothing is known to have arrived; else all bytes have.
inline Outcome ended(Status status, Status last, std::size_t bytes) {
    if (status.ok()) status = std::move(last);
    const bool all = status.ok();
    return {std::move(status), all ? bytes : 0};
}

// Whether nothing has moved, and what failed was this method alone.
inline bool leaves_to_others(const Outcome& outcome) {
    const Code code = outcome.status.code();
    return outcome.bytes_completed == 0 && (code == Code::unsupported || code == Code::out_of_memory);
}

}  // namespace isthmus
