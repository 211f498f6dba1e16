// What callers describe in C, checked and in the core's words.
#include "capi/structures.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "capi/ending.hpp"
#include "transfer/table/table_file.hpp"

namespace isthmus::capi {
namespace {

constexpr std::size_t most_dimensions = 32;

// Whether a caller's structure says how large it is. Members that this library does not know must hold their default.
Status check_size(const char* name, const void* structure, std::size_t bytes, std::size_t known_bytes) {
    if (bytes < sizeof(std::size_t)) {
        return invalid(std::string(name) + "->struct_bytes is " + std::to_string(bytes) + "; set it to sizeof(" + name +
                       ")");
    }
    const auto* first = static_cast<const unsigned char*>(structure);
    if (bytes > known_bytes &&
        std::any_of(first + known_bytes, first + bytes, [](unsigned char byte) { return byte; })) {
        return {Code::unsupported, std::string(name) + " has members that this library, " + isthmus_version() +
                                       ", does not know; leave them zero or use a newer library"};
    }
    return {};
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
    if (known.table != nullptr) {
        ISTHMUS_TRY(assign(chosen.table, read_table(known.table)));
    }
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

}  // namespace isthmus::capi
