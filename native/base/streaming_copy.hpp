// Copies past the caches, for data that is not read soon.
#pragma once

#include <cstddef>

namespace isthmus {

// As memcpy, but lines that are written whole go to memory without being read or kept. Before anybody is told that the
// bytes are there, end_streaming() is called by the same thread.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);
// A caller that sees what is stored after this sees what was streamed before.
void end_streaming();

}  // namespace isthmus
