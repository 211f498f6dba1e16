// A hash of what a copy moves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::tracer {

// Of `bytes` bytes of host memory; never 0. Equal bytes have equal hashes in every process and on every machine.
std::uint64_t content_hash(const void* memory, std::size_t bytes);

}  // namespace isthmus::tracer
