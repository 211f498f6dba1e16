// What torch keeps in its tensors, by plain reads: thousands of them are looked at, and a call for each takes longer
// than copying it.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bindings/arrays/dlpack.hpp"
#include "bindings/arrays/element_type.hpp"

namespace isthmus::bindings {

// What tensors of one type on one device have in common: torch's class in C++, and the words in which a tensor keeps
// its type, its device, its flags and its dispatch keys, and a storage its flags. What DLPack's functions say of two
// tensors of the same traits, lengths, strides and address is the same.
struct TorchTraits {
    const void* type = nullptr;
    std::array<std::uint64_t, 3> words{};
    bool operator==(const TorchTraits&) const = default;
};

// What tensors of one form have in common. Lengths and strides are of so few dimensions as tensors keep in themselves.
struct TorchForm {
    static constexpr std::size_t most_dimensions = 5;
    TorchTraits traits;
    std::size_t dimensions = 0, element_bytes = 0;
    std::array<std::int64_t, most_dimensions> shape{}, strides{};
    bool operator==(const TorchForm&) const = default;
};

// Where one tensor is. What it points to is the tensor's for as long as its Python object is held and nothing replaced
// it, which is_still() looks at before it follows a pointer.
struct TorchFields {
    const std::byte* tensor = nullptr;  // null where it is not known where torch keeps them
    const std::byte* storage = nullptr;

    // The fields that `view` was made of, which was made just now, and their form; nothing where they are not what
    // the view says, as in a version of torch that has others.
    static std::optional<TorchFields> of(nanobind::handle object, const dlpack::Tensor& view, TorchForm& form);
    // Whether it is as it was, with its first element at the address. It calls nothing, counts no reference, and reads
    // as few lines of memory as it can: class and dispatch keys change by no call on a tensor but for its negative bit.
    bool is_still(const PyObject* object, std::uintptr_t address, const TorchForm& form) const;
    // Asks the processor for all that is_still() reads.
    void prefetch(const PyObject* object) const;
};

// A kind of tensors of torch's own class that was copied before, and that nothing was against.
struct TorchKind {
    TorchTraits traits;
    const dlpack::ExchangeTable* table = nullptr;
    dlpack::DataType data_type{};
    dlpack::Device device{};
    ElementType element_type;
};

// Learns the kind of a tensor of `view`, which may be copied. Precondition of all three: the interpreter's lock is
// held.
void learn_torch_kind(nanobind::handle object, const dlpack::ExchangeTable& table, const dlpack::Tensor& view,
                      const ElementType& type);
// The kind of the tensor, if it was learned, and its view; else null. Those of one kind may differ in whether they need
// a gradient. Precondition of this and the next: the object's type is torch.Tensor itself.
const TorchKind* known_torch_kind(nanobind::handle object, dlpack::Tensor& view, bool& may_need_gradient);

// Asks the processor for what known_torch_kind() will read of the object.
void prefetch_torch_tensor(const PyObject* object);

}  // namespace isthmus::bindings
