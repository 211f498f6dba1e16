// What torch keeps in a tensor and no protocol exports.
#include <string>

#include "bindings/arrays/operand.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// Whether a method without arguments says yes.
bool says(nb::handle object, PyObject* method) {
    PyObject* const answer = or_sleep([&] { return PyObject_CallMethodObjArgs(object.ptr(), method, nullptr); });
    if (answer == nullptr) throw nb::python_error();
    return nb::steal(answer).is(nb::borrow(Py_True));
}

}  // namespace

bool is_tensor_of_torch(nb::handle object) {
    static LibraryType tensors("torch", "Tensor");
    return tensors.has(object);
}

// torch keeps in a tensor, and exports by no protocol, that its memory holds the numbers with the other sign, or
// conjugated. False where it cannot be asked. `type` where it is known: numbers without an imaginary part are not asked
// twice.
bool Operand::check_bits(std::optional<dlpack::DataType> type, Refusal& refusal) const {
    static PyObject* const is_neg = interned("is_neg");
    static PyObject* const is_conj = interned("is_conj");
    if (!is_tensor_of_torch(object_)) return true;
    const char* resolving = nullptr;
    try {
        if (says(object_, is_neg))
            resolving = "negative bit set, so that its memory has the other sign; pass x.resolve_neg()";
        if ((!type || type->code == dlpack::complex_code) && says(object_, is_conj))
            resolving = "conjugate bit set, so that its memory is conjugated; pass x.resolve_conj()";
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;
        refusal.note(text_of(error.value()), nb::borrow(error.value()));
        return false;
    }
    if (resolving == nullptr) return true;
    refuse(std::string("has torch's ") + resolving +
           (role_ == Role::source ? "" : ", and hand what has arrived in it on by x.copy_()"));
}

// torch exports its integers of less than a byte, each of which has one of its own, as int8 and uint8.
void Operand::name_small_integers() {
    static PyObject* const dtype_name = interned("dtype");
    if (type_.bytes != 1 || (type_.kind != 'i' && type_.kind != 'u') || !is_tensor_of_torch(object_)) return;
    const nb::object dtype = attribute(object_, dtype_name);
    if (!dtype.is_valid()) return;
    // Nearly always, and its name takes longer to make than all else here.
    static LibraryObject signed_byte("torch", "int8");
    static LibraryObject unsigned_byte("torch", "uint8");
    if (signed_byte.is(dtype) || unsigned_byte.is(dtype)) return;
    std::string name = text_of(dtype);
    name.erase(0, name.rfind('.') + 1);
    if (name == "int8" || name == "uint8") return;
    if (bytes_of_name(name) != 1)
        refuse("has elements of torch." + name + ", which nobody else has; pass x.view(torch.uint8)");
    type_ = type_of_name(name, 1);
}

// DLPack's functions in C give what needs a gradient, too, which __dlpack__ refuses.
bool Operand::is_detached(dlpack::DataType type, Refusal& refusal) const {
    static PyObject* const requires_grad = interned("requires_grad");
    if (type.code == dlpack::int_code || type.code == dlpack::uint_code || type.code == dlpack::bool_code) return true;
    const nb::object flag = attribute(object_, requires_grad, &refusal);
    return flag.is_valid() && flag.is(nb::borrow(Py_False));
}

}  // namespace isthmus::bindings
