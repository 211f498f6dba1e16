// What callers pass in C, checked and in the core's words.
#include "capi/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "capi/ending.hpp"
#include "transfer/table/table_file.hpp"

namespace isthmus::capi {
namespace {

constexpr std::size_t most_dimensions = 32;
// No structure will ever be larger: a size that was never set is not followed into memory that is something else.
constexpr std::size_t most_struct_bytes = 4096;

// Whether a caller's structure says how large it is. Members that this library does not know must hold their default.
Status check_size(const char* name, const void* structure, std::size_t bytes, std::size_t known_bytes) {
    if (bytes < sizeof(std::size_t) || bytes > most_struct_bytes) {
        return invalid(std::string(name) + "->struct_bytes is " + std::to_string(bytes) + "; set it to sizeof(" + name +
                       ")");
    }
    const auto* first = static_cast<const unsigned char*>(structure);
    if (bytes > known_bytes &&
        std::any_of(first + known_bytes, first + bytes, [](unsigned char byte) { return byte; })) {
        return unsupported(std::string(name) + " has members that this library, " + isthmus_version() +
                           ", does not know; leave them zero or use a newer library");
    }
    return {};
}

Result<std::vector<ArrayView>> arrays_of(std::size_t layers, const isthmus_array* arrays, const char* name) {
    std::vector<ArrayView> views;
    views.reserve(layers);
    for (std::size_t i = 0; i < layers; ++i) {
        const std::string element = std::string(name) + "[" + std::to_string(i) + "]";
        ISTHMUS_TRY_ASSIGN(view, view_of(arrays + i, element.c_str()));
        views.push_back(std::move(view));
    }
    return views;
}

}  // namespace

Result<ArrayView> view_of(const isthmus_array* array, const char* name) {
    if (array == nullptr) return null_argument(name);
    const std::string of = std::string(name) + "->";
    if (array->dimensions > most_dimensions) {
        return invalid(of + "dimensions is " + std::to_string(array->dimensions) + "; at most 32 are possible");
    }
    if (array->dimensions > 0 && array->shape == nullptr) return null_argument((of + "shape").c_str());
    if (array->element_bytes == 0 || array->element_bytes > PTRDIFF_MAX) {
        return invalid(of + "element_bytes is " + std::to_string(array->element_bytes) +
                       "; give the size of one element");
    }
    ArrayView view;
    view.address = reinterpret_cast<std::uintptr_t>(array->address);
    view.offset_bytes = array->offset_bytes;
    view.element_bytes = array->element_bytes;
    if (array->dimensions > 0) view.shape.assign(array->shape, array->shape + array->dimensions);
    view.strides_bytes.resize(array->dimensions);
    switch (array->side) {
        case ISTHMUS_INFER: break;
        case ISTHMUS_HOST: view.side = Side::host; break;
        case ISTHMUS_DEVICE: view.side = Side::device; break;
        default:
            return invalid(of + "side is " + std::to_string(array->side) +
                           "; expected ISTHMUS_INFER, ISTHMUS_HOST or ISTHMUS_DEVICE");
    }
    if (array->strides_bytes != nullptr) {
        std::copy_n(array->strides_bytes, array->dimensions, view.strides_bytes.begin());
    } else if (!view.lay_in_c_order()) {
        return invalid(std::string(name) + ": an array of this shape is larger than any memory");
    }
    if (view.address == 0 && std::ranges::find(view.shape, 0U) == view.shape.end()) {
        return null_argument((of + "address").c_str());
    }
    return view;
}

Result<Sides> sides_of(isthmus_direction direction) {
    switch (direction) {
        case ISTHMUS_BY_ADDRESS: return Sides{};
        case ISTHMUS_H2D: return Sides{Side::device, Side::host};
        case ISTHMUS_D2H: return Sides{Side::host, Side::device};
        case ISTHMUS_D2D: return Sides{Side::device, Side::device};
        case ISTHMUS_H2H: return Sides{Side::host, Side::host};
    }
    return invalid("direction is " + std::to_string(direction) +
                   "; expected ISTHMUS_BY_ADDRESS, ISTHMUS_H2D, ISTHMUS_D2H, ISTHMUS_D2D or ISTHMUS_H2H");
}

Result<SessionOptions> options_of(const isthmus_options* options) {
    SessionOptions chosen;
    if (options == nullptr) return chosen;
    ISTHMUS_TRY(check_size("isthmus_options", options, options->struct_bytes, sizeof(isthmus_options)));
    isthmus_options known{};
    std::memcpy(&known, options, std::min(options->struct_bytes, sizeof known));
    if (known.pinned_budget_bytes != 0) chosen.pinned_budget_bytes = known.pinned_budget_bytes;
    chosen.threads = known.threads;
    if (known.kernel_blocks > UINT32_MAX) {
        return invalid("isthmus_options->kernel_blocks is " + std::to_string(known.kernel_blocks) +
                       "; expected less than 2^32, or 0 for as many as fill the link");
    }
    chosen.kernel_blocks = static_cast<std::uint32_t>(known.kernel_blocks);
    if (known.paths != nullptr) chosen.paths = known.paths;
    if (known.table != nullptr) ISTHMUS_TRY(assign(chosen.table, read_table(known.table)));
    return chosen;
}

namespace {

isthmus_stores stores_of(const Explanation& explanation) {
    switch (explanation.stores.value_or(Stores::ordinary)) {
        case Stores::ordinary: return ISTHMUS_ORDINARY_STORES;
        case Stores::streaming: return ISTHMUS_STREAMING_STORES;
        case Stores::demoted: return ISTHMUS_DEMOTED_STORES;
    }
    return ISTHMUS_ORDINARY_STORES;
}

}  // namespace

Status write_explanation(const Explanation& explanation, isthmus_explanation* out) {
    if (out->struct_bytes < sizeof(std::size_t)) {
        return invalid("isthmus_explanation->struct_bytes is " + std::to_string(out->struct_bytes) +
                       "; set it to sizeof(isthmus_explanation)");
    }
    isthmus_explanation known{};
    known.struct_bytes = out->struct_bytes;
    copy_text(known.method, explanation.method);
    copy_text(known.direction, explanation.direction);
    copy_text(known.host_memory, explanation.host_memory);
    known.bytes = explanation.bytes;
    known.pieces = explanation.pieces;
    known.width_bytes = explanation.width_bytes;
    known.chunk_bytes = explanation.chunk_bytes;
    known.threads = explanation.threads;
    known.stores = stores_of(explanation);
    known.seconds = explanation.seconds;
    copy_text(known.why, explanation.why);
    known.kernel_blocks = explanation.kernel_blocks;
    std::memcpy(out, &known, std::min(out->struct_bytes, sizeof known));
    return {};
}

Result<Batch> batch_of(std::size_t pieces, void* const* destinations, const void* const* sources,
                       const std::size_t* bytes) {
    if (pieces == 0) return Batch{};
    if (destinations == nullptr) return null_argument("destinations");
    if (sources == nullptr) return null_argument("sources");
    if (bytes == nullptr) return null_argument("bytes");
    const Batch batch{{{destinations, pieces}, {}}, {{sources, pieces}, {}}, {bytes, pieces}};
    // Nulls less one, as sizes that are too large, have the highest bit: most batches have none, which one quick pass
    // finds out.
    std::uintptr_t bits = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
        bits |= (batch.destinations.address(i) - 1) | (batch.sources.address(i) - 1) | bytes[i];
    }
    for (std::size_t i = 0; bits > PTRDIFF_MAX && i < pieces; ++i) {
        if (bytes[i] == 0) continue;
        std::string index(1, '[');
        index += std::to_string(i) + "]";
        if (destinations[i] == nullptr) return null_argument(("destinations" + index).c_str());
        if (sources[i] == nullptr) return null_argument(("sources" + index).c_str());
        ISTHMUS_TRY(check_bytes(bytes[i], "bytes" + index));
    }
    return batch;
}

Result<Rows::List> Rows::list_of(const isthmus_rows* rows, const char* name) {
    if (rows == nullptr) return null_argument(name);
    const std::string of = std::string(name) + "->";
    List list{*rows, {}};
    if (rows->count > 0 && rows->indices == nullptr) return null_argument((of + "indices").c_str());
    if (rows->index_bytes != sizeof(std::int32_t) && rows->index_bytes != sizeof(std::int64_t)) {
        return invalid(of + "index_bytes is " + std::to_string(rows->index_bytes) + "; expected 4 or 8");
    }
    if (rows->side != ISTHMUS_INFER && rows->side != ISTHMUS_HOST && rows->side != ISTHMUS_DEVICE) {
        return invalid(of + "side is " + std::to_string(rows->side) +
                       "; expected ISTHMUS_INFER, ISTHMUS_HOST or ISTHMUS_DEVICE");
    }
    ISTHMUS_TRY(check_bytes(rows->count > PTRDIFF_MAX / 8 ? SIZE_MAX : rows->count * rows->index_bytes, of + "count"));
    if (rows->side != ISTHMUS_DEVICE && rows->index_bytes == sizeof(std::int32_t)) {
        const std::span numbers(static_cast<const std::int32_t*>(rows->indices), rows->count);
        list.widened.assign(numbers.begin(), numbers.end());
    }
    return list;
}

RowList Rows::List::list() const {
    if (rows.side == ISTHMUS_DEVICE && rows.count > 0) {
        return {{},
                RowListOnDevice{reinterpret_cast<std::uintptr_t>(rows.indices), 0, rows.count, rows.index_bytes,
                                rows.index_bytes}};
    }
    if (rows.index_bytes == sizeof(std::int32_t)) return {widened, std::nullopt};
    return {std::span(static_cast<const std::int64_t*>(rows.indices), rows.count), std::nullopt};
}

Result<Rows> Rows::of(std::size_t layers, const isthmus_array* destinations, const isthmus_rows* destination_rows,
                      const isthmus_array* sources, const isthmus_rows* source_rows) {
    Rows rows;
    if (layers > 0 && destinations == nullptr) return null_argument("destinations");
    if (layers > 0 && sources == nullptr) return null_argument("sources");
    ISTHMUS_TRY_ASSIGN(to, list_of(destination_rows, "destination_rows"));
    ISTHMUS_TRY_ASSIGN(from, list_of(source_rows, "source_rows"));
    ISTHMUS_TRY_ASSIGN(destination_views, arrays_of(layers, destinations, "destinations"));
    ISTHMUS_TRY_ASSIGN(source_views, arrays_of(layers, sources, "sources"));
    rows.destination_ = std::move(to);
    rows.source_ = std::move(from);
    rows.destinations_ = std::move(destination_views);
    rows.sources_ = std::move(source_views);
    return rows;
}

}  // namespace isthmus::capi
