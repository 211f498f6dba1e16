// Sources that repeat their elements, by strides of 0: written out a part at a time, and copied as if they did not.
#include "bindings/arrays/repeated.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace isthmus::bindings {
namespace {

// What is written out stays in the caches until it is copied; pieces of a page are quick to move as they are.
constexpr std::size_t part_bytes = std::size_t{4} << 20;
constexpr std::size_t least_bytes = std::size_t{64} << 10;
constexpr std::size_t long_piece_bytes = 4096;

std::size_t bytes_of(std::span<const std::size_t> shape, std::size_t element_bytes) {
    for (const std::size_t count : shape) element_bytes *= count;
    return element_bytes;
}

// Fills `to` with what follows `filled` bytes of it, by doubling.
void repeat(std::byte* to, std::size_t filled, std::size_t bytes) {
    while (filled < bytes) {
        const std::size_t more = std::min(filled, bytes - filled);
        std::memcpy(to + filled, to, more);
        filled += more;
    }
}

void write_out(std::byte* to, const std::byte* from, std::span<const std::size_t> shape,
               std::span<const std::ptrdiff_t> strides, std::size_t element_bytes) {
    if (shape.empty()) {
        std::memcpy(to, from, element_bytes);
        return;
    }
    const std::size_t inner = bytes_of(shape.subspan(1), element_bytes);
    if (strides[0] == 0) {
        write_out(to, from, shape.subspan(1), strides.subspan(1), element_bytes);
        repeat(to, inner, inner * shape[0]);
        return;
    }
    if (shape.size() == 1 && strides[0] == static_cast<std::ptrdiff_t>(element_bytes)) {
        std::memcpy(to, from, inner * shape[0]);
        return;
    }
    for (std::size_t i = 0; i < shape[0]; ++i) {
        write_out(to + i * inner, from + static_cast<std::ptrdiff_t>(i) * strides[0], shape.subspan(1),
                  strides.subspan(1), element_bytes);
    }
}

struct Parts {
    std::byte* scratch;
    bool in_handle;
    const std::function<Outcome(const ArrayView&, const ArrayView&)>& copy;
    std::size_t completed = 0;

    Status take(const ArrayView& destination, const ArrayView& source) {
        const std::size_t bytes = source.bytes();
        const auto wide = std::ranges::find_if(source.shape, [](std::size_t count) { return count > 1; });
        if (bytes > part_bytes && wide != source.shape.end()) {
            const auto axis = static_cast<std::size_t>(wide - source.shape.begin());
            const std::size_t half = *wide / 2;
            ArrayView to = destination;
            ArrayView from = source;
            to.shape[axis] = from.shape[axis] = half;
            ISTHMUS_TRY(take(to, from));
            to.shape[axis] = from.shape[axis] = *wide - half;
            const auto steps = static_cast<std::ptrdiff_t>(half);
            const auto moved = static_cast<std::size_t>(steps * destination.strides_bytes[axis]);
            (in_handle ? to.offset_bytes : to.address) += moved;
            from.address += static_cast<std::size_t>(steps * source.strides_bytes[axis]);
            return take(to, from);
        }
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        write_out(scratch, reinterpret_cast<const std::byte*>(source.address), source.shape, source.strides_bytes,
                  source.element_bytes);
        ArrayView written = source;
        written.address = reinterpret_cast<std::uintptr_t>(scratch);
        static_cast<void>(written.lay_in_c_order());  // a part is small
        Outcome outcome = copy(destination, written);
        completed += outcome.bytes_completed;
        return std::move(outcome.status);
    }
};

}  // namespace

bool is_repeated(const ArrayView& source) {
    if (source.side != Side::host || source.element_bytes > part_bytes || source.bytes() < least_bytes) return false;
    bool repeats = false;
    std::size_t piece = source.element_bytes;
    bool in_piece = true;
    for (std::size_t i = source.shape.size(); i-- > 0;) {
        if (source.shape[i] == 1) continue;
        repeats = repeats || source.strides_bytes[i] == 0;
        in_piece = in_piece && source.strides_bytes[i] == static_cast<std::ptrdiff_t>(piece);
        if (in_piece) piece *= source.shape[i];
    }
    return repeats && piece < long_piece_bytes;
}

Outcome copy_repeated(const ArrayView& destination, const ArrayView& source, bool in_handle,
                      const std::function<Outcome(const ArrayView&, const ArrayView&)>& copy) {
    const std::unique_ptr<std::byte[]> scratch(new (std::nothrow) std::byte[std::min(source.bytes(), part_bytes)]);
    if (scratch == nullptr) return copy(destination, source);
    Parts parts{scratch.get(), in_handle, copy};
    Status status = parts.take(destination, source);
    return {std::move(status), parts.completed};
}

}  // namespace isthmus::bindings
