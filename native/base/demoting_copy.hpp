// Copies that hand what they have written to the cache that all cores share, for what a device reads soon.
#pragma once

#include <cstddef>

namespace isthmus {

// Whether this processor has an instruction for it (CLDEMOTE).
bool can_demote();

// As memcpy; lines that were written are demoted a little later. A device that reads memory finds them in the shared
// cache much sooner than dirty in that of another core. Only where can_demote().
void copy_demoting(std::byte* to, const std::byte* from, std::size_t bytes);
// The same for bytes that were written already, at best while the core still holds them. Likewise.
void demote(std::byte* data, std::size_t bytes);

}  // namespace isthmus
