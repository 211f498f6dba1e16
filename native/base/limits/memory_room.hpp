// How much more memory this process can have before the system ends programs for want of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace isthmus {

// Whether so many bytes can be touched. Pages that are touched beyond a control group's limit, or beyond what the host
// has, are answered by the out-of-memory killer and not by an error, so the caller that takes much at once asks first.
// What is kept of files counts as free, and swap does not. Fails with out_of_memory, which says whose limit it is and
// what is left. `root` is before every path that is read: empty but in tests.
Status check_memory_room(std::size_t bytes, const std::string& root);
// The tightest limit of the control groups; nothing without one.
std::optional<std::uint64_t> group_memory_limit(const std::string& root);

}  // namespace isthmus
