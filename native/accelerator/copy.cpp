// A copy that a program asks the driver for, as the library understands it.
#include "accelerator/copy.hpp"

#include <utility>

namespace isthmus::accelerator {
namespace {

// Nothing where the driver's structure names no memory with addresses. `layer_bytes` is 0 where there is one layer.
struct NamedSide {
    int type;
    const void* host;
    cuda::DevicePointer device;
    std::size_t pitch_bytes, layer_bytes, first_bytes;
};

std::optional<ArrayView> view(const NamedSide& side, std::size_t width, std::size_t height, std::size_t depth) {
    const auto type = static_cast<Type>(side.type);
    if (type != Type::host && type != Type::device && type != Type::unified) return std::nullopt;
    if (side.pitch_bytes < width || (depth > 1 && side.layer_bytes < side.pitch_bytes * height)) return std::nullopt;
    ArrayView view;
    view.address = (type == Type::host ? reinterpret_cast<std::uintptr_t>(side.host) : side.device) + side.first_bytes;
    view.shape = {depth, height, width};
    view.strides_bytes = {static_cast<std::ptrdiff_t>(side.layer_bytes), static_cast<std::ptrdiff_t>(side.pitch_bytes),
                          1};
    return view;
}

std::optional<Rows> rows(const NamedSide& to, const NamedSide& from, std::size_t width, std::size_t height,
                         std::size_t depth) {
    if (width == 0 || height == 0 || depth == 0) return std::nullopt;
    auto destination = view(to, width, height, depth);
    auto source = view(from, width, height, depth);
    if (!destination || !source) return std::nullopt;
    Rows found{std::move(*destination), std::move(*source), std::nullopt};
    const auto to_type = static_cast<Type>(to.type);
    const auto from_type = static_cast<Type>(from.type);
    if (to_type == Type::host || from_type == Type::device) found.to_device = false;
    if (from_type == Type::host || to_type == Type::device) {
        // Within the host or the device.
        if (found.to_device) return std::nullopt;
        found.to_device = true;
    }
    return found;
}

}  // namespace

std::size_t Copy::span_bytes(bool host_is_source) const {
    const ArrayView* const view = host_is_source ? rows_from : rows_to;
    if (view == nullptr) return batch == nullptr ? bytes : 1;
    std::size_t last = 0;
    for (std::size_t i = 0; i < view->shape.size(); ++i) {
        last += (view->shape[i] - 1) * static_cast<std::size_t>(view->strides_bytes[i]);
    }
    return last + 1;
}

std::optional<Rows> rows_of(const cuda::Copy2d& copy) {
    const auto first = [](std::size_t x, std::size_t y, std::size_t pitch) { return y * pitch + x; };
    const NamedSide to{copy.destination_type,
                       copy.destination_host,
                       copy.destination_device,
                       copy.destination_pitch_bytes,
                       0,
                       first(copy.destination_x_bytes, copy.destination_y, copy.destination_pitch_bytes)};
    const NamedSide from{copy.source_type,
                         copy.source_host,
                         copy.source_device,
                         copy.source_pitch_bytes,
                         0,
                         first(copy.source_x_bytes, copy.source_y, copy.source_pitch_bytes)};
    return rows(to, from, copy.width_bytes, copy.height, 1);
}

std::optional<Rows> rows_of(const cuda::Copy3d& copy) {
    const std::size_t to_layer = copy.destination_pitch_bytes * copy.destination_height;
    const std::size_t from_layer = copy.source_pitch_bytes * copy.source_height;
    const NamedSide to{
        copy.destination_type,
        copy.destination_host,
        copy.destination_device,
        copy.destination_pitch_bytes,
        to_layer,
        copy.destination_z * to_layer + copy.destination_y * copy.destination_pitch_bytes + copy.destination_x_bytes};
    const NamedSide from{
        copy.source_type,   copy.source_host,
        copy.source_device, copy.source_pitch_bytes,
        from_layer,         copy.source_z * from_layer + copy.source_y * copy.source_pitch_bytes + copy.source_x_bytes};
    if (copy.destination_level != 0 || copy.source_level != 0) return std::nullopt;
    return rows(to, from, copy.width_bytes, copy.height, copy.depth);
}

}  // namespace isthmus::accelerator
