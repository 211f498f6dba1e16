// Packs pieces of host memory side by side, and puts them back.
#pragma once

#include <cstddef>

#include "backend/layout.hpp"

namespace isthmus {

// How bytes are written, where the CPU can: as any; past the caches, so that lines that are written whole need not be
// read first; or as any and then handed to the cache that all cores share. A device's copy engine reads both of these
// faster than what other cores hold in caches of their own.
enum class Stores { ordinary, streaming, demoted };

// Bytes [begin, end) of the pieces of `from`, counted as if they lay side by side, to `to`. The layout is checked, and
// of memory that the host may access. On the calling thread.
void pack(std::byte* to, const Layout& from, const Extent& extent, std::size_t begin, std::size_t end, Stores stores);

// The same bytes from `from` to where they belong. Nothing is demoted there, for no device reads it.
void unpack(const Layout& to, const std::byte* from, const Extent& extent, std::size_t begin, std::size_t end,
            Stores stores = Stores::ordinary);

}  // namespace isthmus
