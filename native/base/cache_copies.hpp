// Copies by the CPU that leave what they wrote where a device reads it soonest: in memory, or in the cache that all
// cores share.
#pragma once

#include <cstddef>

namespace isthmus {

// As memcpy, but lines that are written whole go to memory without being read or kept. Before anybody is told that the
// bytes are there, end_streaming() is called by the same thread.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);
// A caller that sees what is stored after this sees what was streamed before.
void end_streaming();

// Whether this processor has an instruction for it (CLDEMOTE).
bool can_demote();

// As memcpy; lines that were written are demoted a little later. A device that reads memory finds them in the shared
// cache much sooner than dirty in that of another core. Only where can_demote().
void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes);
// The same for bytes that were written already, at best while the core still holds them. Likewise.
void demote(std::byte* data, std::size_t bytes);

}  // namespace isthmus
