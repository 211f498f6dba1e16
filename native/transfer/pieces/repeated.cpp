// Sources that repeat their elements, by steps of 0 bytes: what they would be without repetition, written out.
#include "transfer/pieces/pack.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "backend/region.hpp"
#include "base/cache_copies.hpp"

namespace isthmus {
namespace {

// What is stored past the caches is written there first, as lines cannot be streamed in parts.
constexpr std::size_t block_bytes = 4096;

// Fills `to` with what follows `period` bytes of it, by doubling.
void repeat(std::byte* to, std::size_t period, std::size_t bytes) {
    for (std::size_t filled = period; filled < bytes; filled *= 2) {
        std::memcpy(to + filled, to, std::min(filled, bytes - filled));
    }
}

// Pieces of a width that the compiler knows, which saves calling memcpy for a few bytes: so many steps, each piece so
// many times.
template <std::size_t width>
void spread(std::byte* to, const std::byte* from, const Steps& steps, std::size_t times) {
    for (std::size_t i = 0; i < steps.count; ++i, from += steps.stride_bytes) {
        std::array<std::byte, width> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): written in the next line
        std::memcpy(piece.data(), from, width);
        for (std::size_t k = 0; k < times; ++k, to += width) std::memcpy(to, piece.data(), width);
    }
}

// False for other widths.
bool spread(std::byte* to, const std::byte* from, const Steps& steps, std::size_t times, std::size_t width) {
    switch (width) {
        case 1: spread<1>(to, from, steps, times); return true;
        case 2: spread<2>(to, from, steps, times); return true;
        case 4: spread<4>(to, from, steps, times); return true;
        case 8: spread<8>(to, from, steps, times); return true;
        case 16: spread<16>(to, from, steps, times); return true;
        default: return false;
    }
}

// Pieces of one width at places that steps give.
class Repeated {
  public:
    explicit Repeated(std::size_t width) : width_(width) {}

    // Bytes [begin, end) of them, counted as if they lay side by side. `from`: the first piece.
    void write(std::byte* to, const std::byte* from, std::span<const Steps> steps, std::size_t begin,
               std::size_t end) const {
        if (steps.empty()) {
            std::memcpy(to, from + begin, end - begin);
            return;
        }
        const std::span<const Steps> inner = steps.subspan(1);
        std::size_t bytes = width_;  // of one step
        for (const Steps& one : inner) bytes *= one.count;
        const std::ptrdiff_t stride = steps.front().stride_bytes;
        if (stride == 0) {
            const std::size_t within = begin % bytes;
            const std::size_t once = std::min(end - begin, bytes);
            const std::size_t first = std::min(once, bytes - within);
            write(to, from, inner, within, within + first);
            if (once > first) write(to + first, from, inner, 0, once - first);
            repeat(to, once, end - begin);
            return;
        }
        const bool plain = inner.empty() || (inner.size() == 1 && inner.front().stride_bytes == 0);
        for (std::size_t at = begin; at < end;) {
            const std::size_t within = at % bytes;
            std::byte* const next = to + (at - begin);
            const std::byte* const step = from + static_cast<std::ptrdiff_t>(at / bytes) * stride;
            const std::size_t whole = within == 0 ? (end - at) / bytes : 0;
            if (plain && whole > 1 && spread(next, step, {whole, stride}, bytes / width_, width_)) {
                at += whole * bytes;
                continue;
            }
            const std::size_t taken = std::min(end - at, bytes - within);
            write(next, step, inner, within, within + taken);
            at += taken;
        }
    }

  private:
    const std::size_t width_;
};

}  // namespace

void write_out(std::byte* to, const Layout& from, const Extent& extent, std::size_t begin, std::size_t end,
               Stores stores) {
    const Repeated repeated(extent.width_bytes);
    const std::byte* first = from.allocation->host() + from.offset;
    for (const Steps& one : from.steps) {
        if (one.stride_bytes < 0) first -= static_cast<std::ptrdiff_t>(one.count - 1) * one.stride_bytes;
    }
    if (stores != Stores::streaming) {
        repeated.write(to, first, from.steps, begin, end);
        if (stores == Stores::demoted) demote(to, end - begin);
        return;
    }
    std::array<std::byte, block_bytes> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before read
    for (std::size_t at = begin; at < end; at += block_bytes) {
        const std::size_t bytes = std::min(block_bytes, end - at);
        repeated.write(block.data(), first, from.steps, at, at + bytes);
        copy_streaming(to + (at - begin), block.data(), bytes);
    }
    end_streaming();
}

}  // namespace isthmus
