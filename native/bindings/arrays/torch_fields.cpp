// Where torch's classes in C++ have their fields. torch's headers compile these places into every extension, and
// promise them for one version: so the version is looked at, and each tensor whose fields are read has had all of them
// compared with what DLPack's function says of it, or is of a class and traits of which one had.
// https://github.com/pytorch/pytorch/blob/v2.11.0/c10/core/TensorImpl.h, StorageImpl.h
#include "bindings/arrays/torch_fields.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "bindings/arrays/operand.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// Bytes from the beginning of c10::TensorImpl, and of c10::StorageImpl, which begin with the address of the class's
// functions and a count of references.
namespace in_tensor {
constexpr std::ptrdiff_t storage = 16, gradient = 24, dimensions = 64, shape = 72, strides = 112, offset = 152,
                         elements = 160, types = 168, keys = 176, bytes = 184;
}  // namespace in_tensor
namespace in_storage {
constexpr std::ptrdiff_t data = 16, flags = 56;
}  // namespace in_storage
// Lengths and strides of more are elsewhere.
constexpr std::int64_t most_dimensions = TorchForm::most_dimensions;
// The last of its eight bytes is none of the storage's.
constexpr std::uint64_t flags_mask = ~std::uint64_t{0} >> 8U;

// Where a Python object of torch has the address of its tensor: since 2.10 behind Python's own fields, and before
// behind a flag.
constexpr std::array<std::ptrdiff_t, 2> handles{sizeof(PyObject), sizeof(PyObject) + 8};
std::ptrdiff_t handle = handles[0];  // the last that was right; guarded by the interpreter's lock

template <typename Value>
Value read(const void* from, std::ptrdiff_t at) {
    Value value{};
    std::memcpy(&value, static_cast<const std::byte*>(from) + at, sizeof value);
    return value;
}

bool is_known_version() {
    static constexpr std::array<std::string_view, 3> known{"2.9.", "2.10.", "2.11."};
    static int answer = -1;  // guarded by the interpreter's lock; a library cannot be loaded twice
    if (answer < 0) {
        PyObject* const torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
        const std::string version = torch == nullptr ? "" : text_of(nb::getattr(torch, "__version__", nb::none()));
        answer = std::ranges::any_of(known, [&](std::string_view one) { return version.starts_with(one); }) ? 1 : 0;
    }
    return answer == 1;
}

std::uint64_t flags_of(const std::byte* storage) {
    return read<std::uint64_t>(storage, in_storage::flags) & flags_mask;
}

TorchTraits traits_of(const std::byte* tensor, const std::byte* storage) {
    return {read<const void*>(tensor, 0),
            {read<std::uint64_t>(tensor, in_tensor::types), read<std::uint64_t>(tensor, in_tensor::keys),
             flags_of(storage)}};
}

std::size_t bytes_of(dlpack::DataType type) {
    return std::size_t{type.bits} / 8 * type.lanes;
}

// Where the first element is. Offsets are counted in elements.
std::uintptr_t address_of(const std::byte* tensor, const std::byte* storage, std::size_t element_bytes) {
    return read<std::uintptr_t>(storage, in_storage::data) +
           read<std::uint64_t>(tensor, in_tensor::offset) * element_bytes;
}

void prefetch_fields(const std::byte* tensor, std::ptrdiff_t begin, std::ptrdiff_t end) {
    constexpr std::ptrdiff_t line_bytes = 64;
    for (std::ptrdiff_t at = begin; at < end; at += line_bytes) __builtin_prefetch(tensor + at);
    __builtin_prefetch(tensor + end - 1);
}

// Never as many are copied at once. Guarded by the interpreter's lock.
std::array<TorchKind, 8> kinds;
std::size_t next_kind = 0, last_kind = 0;

}  // namespace

std::optional<TorchFields> TorchFields::of(nb::handle object, const dlpack::Tensor& view, TorchForm& form) {
    if (!is_known_version() || view.shape == nullptr || view.dimensions > most_dimensions || view.byte_offset != 0 ||
        view.type.bits % 8 != 0) {
        return std::nullopt;
    }
    // A view has the lengths where the tensor keeps them.
    const auto shape = reinterpret_cast<std::uintptr_t>(view.shape);
    const auto* const at = std::ranges::find_if(handles, [&](std::ptrdiff_t place) {
        return read<std::uintptr_t>(object.ptr(), place) + in_tensor::shape == shape;
    });
    if (at == handles.end()) return std::nullopt;
    TorchFields fields;
    fields.tensor = read<const std::byte*>(object.ptr(), *at);
    std::int64_t elements = 1;
    for (const std::int64_t length : std::span(view.shape, static_cast<std::size_t>(view.dimensions))) {
        elements *= length;
    }
    fields.storage = read<const std::byte*>(fields.tensor, in_tensor::storage);
    if (read<std::int64_t>(fields.tensor, in_tensor::dimensions) != view.dimensions ||
        reinterpret_cast<const std::byte*>(view.strides) != fields.tensor + in_tensor::strides ||
        read<std::int64_t>(fields.tensor, in_tensor::elements) != elements || fields.storage == nullptr) {
        return std::nullopt;
    }
    if (address_of(fields.tensor, fields.storage, bytes_of(view.type)) != reinterpret_cast<std::uintptr_t>(view.data)) {
        return std::nullopt;
    }
    handle = *at;
    form = {traits_of(fields.tensor, fields.storage), static_cast<std::size_t>(view.dimensions), bytes_of(view.type)};
    std::copy_n(view.shape, view.dimensions, form.shape.begin());
    std::copy_n(view.strides, view.dimensions, form.strides.begin());
    return fields;
}

bool TorchFields::is_still(const PyObject* object, std::uintptr_t address, const TorchForm& form) const {
    if (read<const std::byte*>(object, handle) != tensor) return false;
    if (read<const std::byte*>(tensor, in_tensor::storage) != storage) return false;
    // Without branches: nearly always all is as it was.
    std::uint64_t changed = read<std::uint64_t>(tensor, in_tensor::dimensions) ^ form.dimensions;
    for (std::size_t i = 0; i < form.dimensions; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i * sizeof(std::int64_t));
        changed |= static_cast<std::uint64_t>(read<std::int64_t>(tensor, in_tensor::shape + at) ^ form.shape[i]);
        changed |= static_cast<std::uint64_t>(read<std::int64_t>(tensor, in_tensor::strides + at) ^ form.strides[i]);
    }
    changed |= read<std::uint64_t>(tensor, in_tensor::types) ^ form.traits.words.front();
    changed |= flags_of(storage) ^ form.traits.words.back();
    changed |= address_of(tensor, storage, form.element_bytes) ^ address;
    return changed == 0;
}

void TorchFields::prefetch(const PyObject* object) const {
    __builtin_prefetch(reinterpret_cast<const std::byte*>(object) + handle);
    prefetch_fields(tensor, in_tensor::storage, in_tensor::keys);
    __builtin_prefetch(storage + in_storage::data);
}

void learn_torch_kind(nb::handle object, const dlpack::ExchangeTable& table, const dlpack::Tensor& view,
                      const ElementType& type) {
    TorchForm form;
    if (!TorchFields::of(object, view, form)) return;
    const TorchKind kind{form.traits, &table, view.type, view.device, type};
    const auto known = std::ranges::find_if(kinds, [&](const TorchKind& other) { return other.traits == kind.traits; });
    if (known == kinds.end()) kinds[next_kind++ % kinds.size()] = kind;
}

const TorchKind* known_torch_kind(nb::handle object, dlpack::Tensor& view, bool& may_need_gradient) {
    if (kinds[0].table == nullptr) return nullptr;
    const auto* const tensor = read<const std::byte*>(object.ptr(), handle);
    if (tensor == nullptr) return nullptr;
    const void* const type = read<const void*>(tensor, 0);
    if (std::ranges::none_of(kinds, [&](const TorchKind& kind) { return kind.traits.type == type; })) return nullptr;
    const auto* const storage = read<const std::byte*>(tensor, in_tensor::storage);
    const auto dimensions = read<std::int64_t>(tensor, in_tensor::dimensions);
    if (storage == nullptr || dimensions > most_dimensions) return nullptr;
    const TorchTraits traits = traits_of(tensor, storage);
    if (kinds[last_kind].traits != traits) {
        const auto* const kind =
            std::ranges::find_if(kinds, [&](const TorchKind& known) { return known.traits == traits; });
        if (kind == kinds.end()) return nullptr;
        last_kind = static_cast<std::size_t>(kind - kinds.begin());
    }
    const TorchKind& kind = kinds[last_kind];
    const bool has_data = read<std::uintptr_t>(storage, in_storage::data) != 0;
    if (!has_data || read<std::int64_t>(tensor, in_tensor::elements) == 0) return nullptr;
    const std::uintptr_t address = address_of(tensor, storage, bytes_of(kind.data_type));
    may_need_gradient = read<const void*>(tensor, in_tensor::gradient) != nullptr;
    // A view's lengths are not written to.
    auto* const fields = const_cast<std::byte*>(tensor);
    view = {reinterpret_cast<void*>(address),  // NOLINT(performance-no-int-to-ptr)
            kind.device,
            static_cast<std::int32_t>(dimensions),
            kind.data_type,
            reinterpret_cast<std::int64_t*>(fields + in_tensor::shape),
            reinterpret_cast<std::int64_t*>(fields + in_tensor::strides),
            0};
    return &kind;
}

void prefetch_torch_tensor(const PyObject* object) {
    const auto* const tensor = read<const std::byte*>(object, handle);
    if (tensor != nullptr) prefetch_fields(tensor, 0, in_tensor::bytes);
}

}  // namespace isthmus::bindings
