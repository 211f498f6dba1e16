// Operands of producers that offer DLPack as functions in C, by which no Python runs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bindings/arrays/exchange.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/arrays/torch_fields.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// A failure that Python is told of by the methods, too, which then say why.
void note_failure(Refusal& refusal) {
    if (PyErr_Occurred() == nullptr) {
        refusal.note("its __dlpack_c_exchange_api__ fails, and does not say why");
        return;
    }
    const nb::python_error error;
    if (!error.matches(PyExc_Exception)) throw error;
    refusal.note(text_of(error.value()), nb::borrow(error.value()));
}

void drop_tensor(PyObject* capsule) {
    auto* const tensor = static_cast<dlpack::VersionedTensor*>(PyCapsule_GetPointer(capsule, dlpack::versioned_name));
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

// The tensor's owner from here on.
nb::object capsule_of(dlpack::VersionedTensor* tensor) {
    PyObject* const capsule = tensor == nullptr ? nullptr : PyCapsule_New(tensor, dlpack::versioned_name, &drop_tensor);
    if (capsule != nullptr) return nb::steal(capsule);
    if (tensor != nullptr && tensor->deleter != nullptr) tensor->deleter(tensor);
    throw nb::python_error();
}

bool is_understood(dlpack::DataType type, dlpack::Device device) {
    constexpr std::array devices{dlpack::cpu, dlpack::cuda, dlpack::cuda_host, dlpack::opencl, dlpack::cuda_managed};
    return std::ranges::find(devices, device.type) != devices.end() && type_of_dlpack(type, false).ok();
}

}  // namespace

// The lengths and strides of a view are the object's, which others may change while the copy is in flight, or while an
// operand after this one runs Python.
void Operand::keep_extents() {
    const auto count = static_cast<std::size_t>(dimensions_);
    const auto keep = [count](const std::int64_t*& from, std::array<std::int64_t, 8>& few,
                              std::vector<std::int64_t>& many) {
        if (from == nullptr) return;
        if (count > few.size()) many.resize(count);
        std::int64_t* const to = count > few.size() ? many.data() : few.data();
        std::copy_n(from, count, to);
        from = to;
    };
    keep(shape_, few_lengths_, own_shape_);
    keep(strides_, few_strides_, own_strides_);
}

// Whether the memory is what the methods would give; what is not, they refuse and say why.
bool Operand::suits(const dlpack::Tensor& tensor, Refusal& refusal) const {
    if (tensor.dimensions < 0 || (tensor.dimensions > 0 && tensor.shape == nullptr)) return false;
    if (!is_understood(tensor.type, tensor.device)) return false;
    const std::span lengths(tensor.shape, static_cast<std::size_t>(tensor.dimensions));
    if (tensor.data == nullptr && std::ranges::find(lengths, 0) == lengths.end()) return false;
    return !is_tensor_of_torch(object_) || (check_bits(tensor.type, refusal) && is_detached(tensor.type, refusal));
}

// A tensor of torch's own class like one that was taken before.
bool Operand::take_known_tensor(std::optional<std::uintptr_t> stream, CurrentStreams& current, Refusal& refusal) {
    dlpack::Tensor view{};
    bool may_need_gradient = false;
    const TorchKind* const kind = known_torch_kind(object_, view, may_need_gradient);
    if (kind == nullptr || (may_need_gradient && !is_detached(kind->data_type, refusal))) return false;
    if (kind->device.is_cuda()) {
        awaited_ = current.of(*kind->table, {dlpack::cuda, kind->device.id});
        if (!awaited_) {
            PyErr_Clear();  // and is asked again, by who passes it on
            return false;
        }
        ready_ = waiting_stream(stream);
    }
    type_ = kind->element_type;
    place_tensor(view);
    keep_extents();
    kept_by_object_ = true;
    return true;
}

bool Operand::take_exchange(std::optional<std::uintptr_t> stream, Keep keep, CurrentStreams& current,
                            Refusal& refusal) {
    static LibraryType tensors("torch", "Tensor");
    const bool is_torch = tensors.has(object_);
    const bool is_plain_tensor = is_torch && Py_TYPE(object_.ptr()) == tensors.type();
    if (is_plain_tensor && keep == Keep::object && take_known_tensor(stream, current, refusal)) return true;
    const dlpack::ExchangeTable* const table = exchange_of(object_);
    if (table == nullptr) return false;
    if (role_ == Role::destination && !is_torch && is_immutable(object_)) return false;
    // A view does not say whether it may be written to: all tensors of torch may, others are held, which says it.
    const bool viewed = keep == Keep::object && table->view != nullptr && (is_torch || role_ == Role::source);
    dlpack::Tensor view{};
    dlpack::VersionedTensor* held = nullptr;
    if (or_sleep([&] { return viewed ? table->view(object_.ptr(), &view) : table->hold(object_.ptr(), &held); }) != 0) {
        note_failure(refusal);
        return false;
    }
    if (!viewed) {
        capsule_ = capsule_of(held);
        if (held->version.major == 1) view = held->tensor;
    }
    std::optional<std::uintptr_t> producing;
    bool taken = (!viewed && held->version.major != 1) || suits(view, refusal);
    if (taken && view.device.is_cuda()) {
        producing = current.of(*table, {dlpack::cuda, view.device.id});
        taken = producing.has_value();
        if (!taken) note_failure(refusal);
    }
    if (taken && !viewed) taken = take_capsule(refusal);
    if (!taken) {
        capsule_.reset();
        return false;
    }
    if (viewed) {
        take_tensor(view, 0);
        if (is_plain_tensor) learn_torch_kind(object_, *table, view, type_);
        keep_extents();
        kept_by_object_ = true;
    }
    if (producing) ready_ = waiting_stream(stream);
    awaited_ = producing;
    return true;
}

}  // namespace isthmus::bindings
