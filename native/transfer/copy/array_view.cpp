// Memory of a caller, as it is handed to a copy: an array of any number of dimensions, on either side.
#include "transfer/copy/array_view.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

namespace isthmus {
namespace {

// Where pieces lie is written down for each of them when they lie at no regular distances: so many take 2 GiB.
constexpr std::size_t most_offsets = std::size_t{1} << 28;

// One dimension on both sides: so many steps, and the bytes from one to the next.
struct Dimension {
    std::size_t count;
    std::ptrdiff_t destination, source;
};

// Repeated elements are written out from so many bytes on, unless they are pieces that are quick to move as they are.
constexpr std::size_t least_repeated_bytes = std::size_t{64} << 10;
constexpr std::size_t long_piece_bytes = 4096;

std::string text_of(const std::vector<std::size_t>& shape) {
    std::string text = "(";
    for (const std::size_t count : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(count);
    return text + ")";
}

Status check(const ArrayView& array, const std::string& name) {
    if (array.strides_bytes.size() != array.shape.size()) {
        return invalid("the " + name + " has " + std::to_string(array.shape.size()) + " dimensions and " +
                       std::to_string(array.strides_bytes.size()) + " strides");
    }
    if (array.element_bytes == 0) return invalid("the " + name + " has elements of no bytes");
    if (std::find(array.shape.begin(), array.shape.end(), 0U) != array.shape.end()) return {};
    // The whole array, and the distance from its lowest to its highest byte, must fit into signed 64 bits.
    std::ptrdiff_t bytes = 0;
    bool fits = !__builtin_add_overflow(std::ptrdiff_t{0}, array.element_bytes, &bytes);
    std::ptrdiff_t span = bytes;
    for (std::size_t i = 0; fits && i < array.shape.size(); ++i) {
        std::ptrdiff_t reach = 0;
        fits = array.strides_bytes[i] != PTRDIFF_MIN && !__builtin_mul_overflow(bytes, array.shape[i], &bytes) &&
               !__builtin_mul_overflow(std::abs(array.strides_bytes[i]), array.shape[i] - 1, &reach) &&
               !__builtin_add_overflow(span, reach, &span);
    }
    if (!fits) return invalid("the size of the " + name + ", of shape " + text_of(array.shape) + ", overflows 64 bits");
    return {};
}

// Dimensions of one step do not count, and neither does the order in which elements are copied: so steps back on both
// sides are steps forth from the other end, and those that are longest where elements are written come first. `first`
// is what the first element moves by.
std::vector<Dimension> dimensions_of(const ArrayView& destination, const ArrayView& source,
                                     std::ptrdiff_t& first_destination, std::ptrdiff_t& first_source) {
    std::vector<Dimension> dimensions;
    dimensions.reserve(destination.shape.size());
    for (std::size_t i = 0; i < destination.shape.size(); ++i) {
        Dimension one{destination.shape[i], destination.strides_bytes[i], source.strides_bytes[i]};
        if (one.count == 1) continue;
        if (one.destination < 0) {
            const auto last = static_cast<std::ptrdiff_t>(one.count - 1);
            first_destination += last * one.destination;
            first_source += last * one.source;
            one.destination = -one.destination;
            one.source = -one.source;
        }
        dimensions.push_back(one);
    }
    if (dimensions.size() < 2) return dimensions;  // without the memory that sorting gets
    std::stable_sort(dimensions.begin(), dimensions.end(), [](const Dimension& one, const Dimension& other) {
        return one.destination != other.destination ? one.destination > other.destination
                                                    : std::abs(one.source) > std::abs(other.source);
    });
    return dimensions;
}

// Joins dimensions of which one continues the other on both sides, and takes from the innermost what is contiguous
// there: the width of a piece.
std::size_t collapse(std::vector<Dimension>& dimensions, std::size_t element_bytes) {
    std::size_t joined = 0;
    for (const Dimension inner : dimensions) {
        const auto count = static_cast<std::ptrdiff_t>(inner.count);
        Dimension* const outer = joined == 0 ? nullptr : &dimensions[joined - 1];
        if (outer != nullptr && outer->destination == count * inner.destination &&
            outer->source == count * inner.source) {
            *outer = {outer->count * inner.count, inner.destination, inner.source};
        } else {
            dimensions[joined++] = inner;
        }
    }
    dimensions.resize(joined);
    const auto width = static_cast<std::ptrdiff_t>(element_bytes);
    if (dimensions.empty() || dimensions.back().destination != width || dimensions.back().source != width) {
        return element_bytes;
    }
    const std::size_t wide = element_bytes * dimensions.back().count;
    dimensions.pop_back();
    return wide;
}

// One side's steps, joined where they continue one another on this side.
std::vector<Steps> steps_of(std::span<const Dimension> dimensions, std::ptrdiff_t Dimension::*side) {
    std::vector<Steps> steps;
    for (const Dimension& dimension : dimensions) {
        const Steps inner{dimension.count, dimension.*side};
        if (!steps.empty() &&
            steps.back().stride_bytes == static_cast<std::ptrdiff_t>(inner.count) * inner.stride_bytes) {
            steps.back() = {steps.back().count * inner.count, inner.stride_bytes};
        } else {
            steps.push_back(inner);
        }
    }
    return steps;
}

// Whether every stride is longer than all that is within it: then no two pieces overlap.
bool is_nested(std::span<const Steps> steps, std::size_t width) {
    auto span = static_cast<std::ptrdiff_t>(width);
    for (std::size_t i = steps.size(); i-- > 0;) {
        if (steps[i].stride_bytes < span) return false;
        span += static_cast<std::ptrdiff_t>(steps[i].count - 1) * steps[i].stride_bytes;
    }
    return true;
}

// Whether what is written without gaps repeats short pieces so often that it is quicker to write them out than to move
// each by itself.
bool is_repeated(std::span<const Steps> to, std::span<const Steps> from, std::size_t width) {
    if (to.size() != 1 || to.front().stride_bytes != static_cast<std::ptrdiff_t>(width)) return false;
    return width < long_piece_bytes && to.front().count >= least_repeated_bytes / width &&
           std::ranges::any_of(from, [](const Steps& one) { return one.stride_bytes == 0; });
}

// Regular rows and slices, if this side's steps are that.
bool fit(ArrayPieces::Placement& placement, std::span<const Steps> steps, const Extent& extent) {
    if (!is_nested(steps, extent.width_bytes) || steps.size() > 2) return false;
    if (steps.size() == 2 && steps.back().count != extent.rows) return false;
    placement.pitch_bytes = steps.empty() ? extent.width_bytes : static_cast<std::size_t>(steps.back().stride_bytes);
    placement.slice_pitch_bytes =
        steps.size() == 2 ? static_cast<std::size_t>(steps.front().stride_bytes) : extent.rows * placement.pitch_bytes;
    return true;
}

std::size_t span_of(std::span<const Steps> steps, std::size_t width) {
    std::size_t span = width;
    for (const Steps& one : steps) span += (one.count - 1) * static_cast<std::size_t>(std::abs(one.stride_bytes));
    return span;
}

}  // namespace

Result<std::vector<std::uint64_t>> offsets_of(std::span<const Steps> steps, std::size_t pieces) {
    if (pieces > most_offsets) {
        return unsupported(std::to_string(pieces) +
                           " elements lie apart at no regular distances; copy the array in parts, or "
                           "make one side contiguous");
    }
    std::ptrdiff_t at = 0;
    for (const Steps& one : steps) {
        if (one.stride_bytes < 0) at -= static_cast<std::ptrdiff_t>(one.count - 1) * one.stride_bytes;
    }
    std::vector<std::uint64_t> offsets(pieces);
    std::vector<std::size_t> index(steps.size());
    for (std::uint64_t& offset : offsets) {
        offset = static_cast<std::uint64_t>(at);
        for (std::size_t k = steps.size(); k-- > 0;) {
            at += steps[k].stride_bytes;
            if (++index[k] < steps[k].count) break;
            at -= static_cast<std::ptrdiff_t>(index[k]) * steps[k].stride_bytes;
            index[k] = 0;
        }
    }
    return offsets;
}

ArrayView ArrayView::of_bytes(std::uintptr_t address, std::size_t bytes) {
    ArrayView view;
    view.address = address;
    view.shape = {bytes};
    view.strides_bytes = {1};
    return view;
}

std::size_t ArrayView::elements() const {
    std::size_t product = 1;
    for (const std::size_t count : shape) product *= count;
    return product;
}

bool ArrayView::lay_in_c_order() {
    strides_bytes.resize(shape.size());
    auto stride = static_cast<std::ptrdiff_t>(element_bytes);
    bool fits = true;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides_bytes[i] = stride;
        fits = !__builtin_mul_overflow(stride, std::max<std::size_t>(shape[i], 1), &stride) && fits;
    }
    // The strides of an empty array do not matter.
    return fits || std::ranges::find(shape, 0U) != shape.end();
}

bool ArrayView::is_contiguous() const {
    auto stride = static_cast<std::ptrdiff_t>(element_bytes);
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 0) return true;
        if (shape[i] > 1 && strides_bytes[i] != stride) return false;
        stride *= static_cast<std::ptrdiff_t>(shape[i]);
    }
    return true;
}

Result<ArrayPieces> ArrayPieces::of(const ArrayView& destination, const ArrayView& source) {
    if (destination.shape != source.shape) {
        return invalid("the destination has the shape " + text_of(destination.shape) + ", the source " +
                       text_of(source.shape) + "; both must be of one shape");
    }
    if (destination.element_bytes != source.element_bytes) {
        return invalid("the destination has elements of " + std::to_string(destination.element_bytes) +
                       " bytes, the source of " + std::to_string(source.element_bytes) +
                       "; a copy converts nothing, so convert the type first");
    }
    ISTHMUS_TRY(check(destination, "destination"));
    ISTHMUS_TRY(check(source, "source"));
    ArrayPieces pieces;
    if (destination.elements() == 0) return pieces;

    std::vector<Dimension> dimensions =
        dimensions_of(destination, source, pieces.destination.first_bytes, pieces.source.first_bytes);
    Extent& extent = pieces.extent;
    extent.width_bytes = collapse(dimensions, destination.element_bytes);
    std::size_t count = 1;
    for (const Dimension& dimension : dimensions) {
        count *= dimension.count;
        if (dimension.source < 0) {
            pieces.source.first_bytes += static_cast<std::ptrdiff_t>(dimension.count - 1) * dimension.source;
        }
    }
    const std::vector<Steps> to = steps_of(dimensions, &Dimension::destination);
    std::vector<Steps> from = steps_of(dimensions, &Dimension::source);
    pieces.destination.span_bytes = span_of(to, extent.width_bytes);
    pieces.source.span_bytes = span_of(from, extent.width_bytes);

    extent.rows = count;
    const bool repeated = is_repeated(to, from, extent.width_bytes);
    if (repeated) {
        // All are rows.
    } else if (to.size() == 2) {
        extent.rows = to.back().count;
    } else if (from.size() == 2) {
        extent.rows = from.back().count;
    }
    extent.slices = count / extent.rows;
    if (!fit(pieces.destination, to, extent)) {
        ISTHMUS_TRY_ASSIGN(offsets, offsets_of(to, count));
        pieces.destination.offsets = std::move(offsets);
        if (!is_nested(to, extent.width_bytes) && !are_disjoint(pieces.destination.offsets, extent.width_bytes)) {
            return invalid(
                "elements of the destination overlap one another (its strides are too short for its shape); copy into "
                "an array whose elements are apart, such as a new one without strides of its own");
        }
    }
    if (repeated) {
        pieces.source.steps = std::move(from);
    } else if (!fit(pieces.source, from, extent)) {
        ISTHMUS_TRY(assign(pieces.source.offsets, offsets_of(from, count)));
    }
    return pieces;
}

Status ArrayPieces::write_offsets() {
    if (source.steps.empty()) return {};
    ISTHMUS_TRY(assign(source.offsets, offsets_of(source.steps, extent.pieces())));
    source.steps.clear();
    return {};
}

}  // namespace isthmus
