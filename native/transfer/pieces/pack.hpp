// Packs pieces of host memory side by side, and puts them back.
#pragma once

#include <cstddef>

#include "backend/layout.hpp"
#include "base/memory/access.hpp"
#include "base/names.hpp"

namespace isthmus {

// How bytes are written, where the CPU can: as any; past the caches, so that lines that are written whole need not be
// read first; or as any and then handed to the cache that all cores share. A device's copy engine reads both of these
// faster than what other cores hold in caches of their own.
ISTHMUS_ENUM(Stores, ordinary, streaming, demoted)

// Bytes [begin, end) of the pieces of `from`, counted as if they lay side by side, to `to`. The layout is checked, and
// of memory that the host may access. On the calling thread.
void pack(std::byte* to, const Layout& from, const Extent& extent, std::size_t begin, std::size_t end, Stores stores);

// The same bytes from `from` to where they belong. Nothing is demoted there, for no device reads it.
void unpack(const Layout& to, const std::byte* from, const Extent& extent, std::size_t begin, std::size_t end,
            Stores stores = Stores::ordinary);

// As pack(), of a layout that has steps, which repeat elements by 0 bytes: what they would be, written out.
void write_out(std::byte* to, const Layout& from, const Extent& extent, std::size_t begin, std::size_t end,
               Stores stores);

// Whether an access to the same bytes raises no signal, as the mappings tell, or each page; not of pieces that are
// repeated.
Mappings::Answer may_access(Access access, const Layout& layout, const Extent& extent);
bool make_accessible(Access access, const Layout& layout, const Extent& extent, std::size_t begin, std::size_t end);

// In words, for memory of the host that a copy reads or writes.
Status no_access(Access access);

}  // namespace isthmus
