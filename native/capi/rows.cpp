// A copy of rows as C passes it.
#include "capi/rows.hpp"

#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "capi/ending.hpp"
#include "capi/structures.hpp"

namespace isthmus::capi {
namespace {

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

Result<Rows::List> Rows::list_of(const isthmus_rows* rows, const char* name) {
    if (rows == nullptr) return null_argument(name);
    const std::string of = std::string(name) + "->";
    List list{*rows, {}};
    if (rows->count > 0 && rows->indices == nullptr) return null_argument((of + "indices").c_str());
    if (rows->index_bytes != sizeof(std::int32_t) && rows->index_bytes != sizeof(std::int64_t)) {
        return Status(Code::invalid_argument,
                      of + "index_bytes is " + std::to_string(rows->index_bytes) + "; expected 4 or 8");
    }
    if (rows->side != ISTHMUS_INFER && rows->side != ISTHMUS_HOST && rows->side != ISTHMUS_DEVICE) {
        return Status(Code::invalid_argument, of + "side is " + std::to_string(rows->side) +
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
