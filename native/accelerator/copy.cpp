// A copy that a program asks the driver for, as the library understands it.
#include "accelerator/copy.hpp"

#include <climits>
#include <utility>

namespace isthmus::accelerator {
namespace {

// From so many bytes of pageable memory on, copies to the device wait; smaller ones the driver takes into memory of its
// own. For rows the least size that was seen to wait.
constexpr std::size_t least_waiting_bytes = (std::size_t{2} << 20) + 4096;
constexpr std::size_t least_waiting_rows_bytes = std::size_t{4} << 20;
constexpr std::uintptr_t last_legacy_stream = 1;

// A product or sum of sizes, or nothing once one exceeds what a distance in memory can be.
class Size {
  public:
    Size(std::size_t value) : value_(value), fits_(value <= PTRDIFF_MAX) {}  // NOLINT(google-explicit-constructor)
    Size operator+(Size other) const {
        Size sum(value_ + other.value_);
        sum.fits_ = sum.fits_ && fits_ && other.fits_;
        return sum;
    }
    Size operator*(Size other) const {
        std::size_t product = 0;
        const bool overflows = __builtin_mul_overflow(value_, other.value_, &product);
        Size made(product);
        made.fits_ = made.fits_ && !overflows && fits_ && other.fits_;
        return made;
    }
    bool fits() const { return fits_; }
    bool is_within(std::size_t limit) const { return fits_ && value_ <= limit; }
    std::size_t value() const { return value_; }

  private:
    std::size_t value_;
    bool fits_;
};

bool are_addresses(std::uintptr_t first, Size bytes) {
    return first != 0 && bytes.fits() && bytes.value() <= UINTPTR_MAX - first;
}

// One side of a 2-D or 3-D copy as the driver's structures name it. A 2-D copy has one layer of as many rows as are
// copied.
struct NamedSide {
    int type;
    const void* host;
    cuda::DevicePointer device;
    std::size_t x_bytes, y, z;
    std::size_t pitch_bytes, layer_rows;
};

// Every row is within its pitch, every layer within its rows, and every byte at an address. The driver's largest pitch
// depends on the device.
struct View {
    ArrayView rows;
    std::size_t position;
};
std::optional<View> view(const NamedSide& side, std::size_t width, std::size_t height, std::size_t depth) {
    const auto type = static_cast<Type>(side.type);
    if (type != Type::host && type != Type::device && type != Type::unified) return std::nullopt;
    if (!(Size(side.x_bytes) + width).is_within(side.pitch_bytes)) return std::nullopt;
    if (!(Size(side.y) + height).is_within(side.layer_rows)) return std::nullopt;
    const Size layer = Size(side.pitch_bytes) * side.layer_rows;
    const Size all = layer * (Size(side.z) + depth);
    const std::uintptr_t base = type == Type::host ? reinterpret_cast<std::uintptr_t>(side.host) : side.device;
    if (!are_addresses(base, all)) return std::nullopt;
    const std::size_t position = side.z * layer.value() + side.y * side.pitch_bytes + side.x_bytes;
    ArrayView rows;
    rows.address = base + position;
    rows.shape = {depth, height, width};
    rows.strides_bytes = {static_cast<std::ptrdiff_t>(layer.value()), static_cast<std::ptrdiff_t>(side.pitch_bytes), 1};
    return View{std::move(rows), position};
}

std::optional<Rows> rows(const NamedSide& to, const NamedSide& from, std::size_t width, std::size_t height,
                         std::size_t depth) {
    if (width == 0 || height == 0 || depth == 0) return std::nullopt;
    auto destination = view(to, width, height, depth);
    auto source = view(from, width, height, depth);
    if (!destination || !source) return std::nullopt;
    Rows found{std::move(destination->rows), std::move(source->rows), destination->position, source->position,
               std::nullopt};
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

bool are_valid(const cuda::CopyAttributes& attributes) {
    const auto is_valid = [](const cuda::MemoryLocation& hint) {
        return hint.type == cuda::location_type_invalid || hint.type == cuda::location_type_host ||
               (hint.type == cuda::location_type_device && hint.id == 0);
    };
    return attributes.source_access_order >= cuda::source_access_order_stream &&
           attributes.source_access_order <= cuda::source_access_order_any && is_valid(attributes.source_hint) &&
           is_valid(attributes.destination_hint) &&
           (attributes.flags & ~cuda::copy_flag_prefer_overlap_with_compute) == 0;
}

// Each kind begins at a piece of its own, in order, and the first one at the first.
bool are_valid(const BatchCall& call) {
    if (call.attributes == nullptr || call.attribute_begins == nullptr) return false;
    if (call.attribute_count == 0 || call.attribute_count > call.count || call.attribute_begins[0] != 0) return false;
    for (std::size_t i = 0; i < call.attribute_count; ++i) {
        if (!are_valid(call.attributes[i])) return false;
        if (i == 0) continue;
        if (call.attribute_begins[i] <= call.attribute_begins[i - 1] || call.attribute_begins[i] >= call.count) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::size_t Copy::span_bytes(bool of_source) const {
    if (rows == nullptr) return batch == nullptr ? bytes : 1;
    const ArrayView& view = of_source ? rows->source : rows->destination;
    std::size_t last = 0;
    for (std::size_t i = 0; i < view.shape.size(); ++i) {
        last += (view.shape[i] - 1) * static_cast<std::size_t>(view.strides_bytes[i]);
    }
    return last + 1;
}

bool is_valid_piece(std::uintptr_t destination, std::uintptr_t source, std::size_t bytes) {
    return bytes != 0 && are_addresses(destination, bytes) && are_addresses(source, bytes);
}

std::optional<Rows> rows_of(const cuda::Copy2d& copy) {
    const NamedSide to{copy.destination_type,        copy.destination_host,
                       copy.destination_device,      copy.destination_x_bytes,
                       copy.destination_y,           0,
                       copy.destination_pitch_bytes, (Size(copy.destination_y) + copy.height).value()};
    const NamedSide from{copy.source_type,        copy.source_host,
                         copy.source_device,      copy.source_x_bytes,
                         copy.source_y,           0,
                         copy.source_pitch_bytes, (Size(copy.source_y) + copy.height).value()};
    return rows(to, from, copy.width_bytes, copy.height, 1);
}

std::optional<Rows> rows_of(const cuda::Copy3d& copy) {
    if (copy.destination_level != 0 || copy.source_level != 0) return std::nullopt;
    if (copy.reserved_of_destination != nullptr || copy.reserved_of_source != nullptr) return std::nullopt;
    const NamedSide to{copy.destination_type,        copy.destination_host,  copy.destination_device,
                       copy.destination_x_bytes,     copy.destination_y,     copy.destination_z,
                       copy.destination_pitch_bytes, copy.destination_height};
    const NamedSide from{copy.source_type, copy.source_host, copy.source_device,      copy.source_x_bytes,
                         copy.source_y,    copy.source_z,    copy.source_pitch_bytes, copy.source_height};
    return rows(to, from, copy.width_bytes, copy.height, copy.depth);
}

std::optional<std::size_t> bytes_of(const BatchCall& call) {
    if (call.count == 0 || call.to == nullptr || call.from == nullptr || call.bytes == nullptr) return std::nullopt;
    if (!are_valid(call)) return std::nullopt;
    Size sum = 0;
    for (std::size_t i = 0; i < call.count; ++i) {
        if (!is_valid_piece(call.to[i], call.from[i], call.bytes[i])) return std::nullopt;
        sum = sum + call.bytes[i];
    }
    return sum.fits() ? std::optional(sum.value()) : std::nullopt;
}

bool driver_waits(const Copy& copy) {
    // Some of these return, by their number, their sizes and the order that their attributes ask for.
    if (copy.batch != nullptr) return false;
    if (!*copy.to_device) return true;
    // On the thread's own stream small ones return before what the legacy stream holds.
    if (!copy.is_asynchronous) return copy.stream <= last_legacy_stream;
    return copy.bytes >= (copy.in_one_piece() ? least_waiting_bytes : least_waiting_rows_bytes);
}

}  // namespace isthmus::accelerator
