// Operands in the host's memory: NumPy's arrays and the buffer protocol; and arrays that Isthmus made.
#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/arrays/device_array.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/errors.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

// https://numpy.org/doc/stable/reference/arrays.interface.html#object.__array_struct__
struct ArrayStruct {
    int two;
    int dimensions;
    char kind;
    int item_bytes;
    int flags;
    std::int64_t* shape;
    std::int64_t* strides;
    void* data;
    PyObject* description;
};
constexpr int native_order = 0x200;
constexpr int writeable = 0x400;

// Of Python's own memory, which speaks the buffer protocol alone: that it has no other attribute takes long to find.
bool is_plain_buffer(nb::handle object) {
    PyObject* const value = object.ptr();
    return PyMemoryView_Check(value) != 0 || PyByteArray_CheckExact(value) != 0 || PyBytes_CheckExact(value) != 0;
}

// From the library, if it has been imported; a reference that is never given back.
PyObject* in_library(const char* library_name, const char* name) {
    PyObject* const library = PyDict_GetItemString(PyImport_GetModuleDict(), library_name);
    if (library == nullptr) return nullptr;
    PyObject* const value = PyObject_GetAttrString(library, name);
    if (value == nullptr) PyErr_Clear();  // It is being imported at this moment.
    return value;
}

bool is_masked(nb::handle object) {
    return nb::hasattr(object, "mask") && nb::hasattr(object, "fill_value");
}

}  // namespace

PyTypeObject* LibraryType::find() {
    if (type_ == nullptr) {
        PyObject* const type = in_library(library_, name_);
        if (type != nullptr && PyType_Check(type) != 0) type_ = reinterpret_cast<PyTypeObject*>(type);
    }
    return type_;
}

bool LibraryType::has(nb::handle object) {
    return find() != nullptr && PyObject_TypeCheck(object.ptr(), type_) != 0;
}

bool LibraryObject::is(nb::handle object) {
    if (object_ == nullptr) object_ = in_library(library_, name_);
    return object.ptr() == object_;
}

bool Operand::take_numpy(Refusal& refusal) {
    static LibraryType arrays("numpy", "ndarray");
    static LibraryType scalars("numpy", "generic");
    if (arrays.has(object_)) {
        kept_by_object_ = true;
        if (Py_TYPE(object_.ptr()) != arrays.type() && is_masked(object_)) {
            refuse(std::string("has a mask, which would not be copied; pass x.data") +
                   (role_ == Role::source ? ", or x.filled()" : ""));
        }
        return take_array_struct(refusal);
    }
    // A scalar has an array made of it, which goes with the capsule.
    if (!scalars.has(object_) || !take_array_struct(refusal)) return false;
    read_only_ = true;
    return true;
}

bool Operand::take_array_struct(Refusal& refusal) {
    static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
    capsule_ = attribute(object_, name, &refusal);
    if (!capsule_.is_valid()) return false;
    const auto* const array = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule_.ptr(), nullptr));
    if (array == nullptr) throw nb::python_error();
    if (array->two != 2) refuse("has an __array_struct__ of another version than 2");
    address_ = reinterpret_cast<std::uintptr_t>(array->data);
    type_ = {.kind = array->kind, .bytes = static_cast<std::size_t>(array->item_bytes)};
    type_.swapped = (array->flags & native_order) == 0 && type_.bytes > 1;
    read_only_ = (array->flags & writeable) == 0;
    dimensions_ = array->dimensions;
    shape_ = array->shape;
    strides_ = array->strides;
    if (array->description != nullptr) {
        // NumPy clears all other flags where there are fields: it writes &= for |=.
        type_.swapped = false;
        read_only_ = nb::object(object_.attr("flags").attr("writeable")).is(nb::borrow(Py_False));
        if (nb::cast<bool>(object_.attr("dtype").attr("hasobject"))) type_.kind = 'O';
    } else {
        name_type();
    }
    return true;
}

bool Operand::take_device_array() {
    const DeviceArray* const array = device_array(object_);
    if (array == nullptr) return false;
    memory_ = array->memory;
    kept_by_object_ = true;
    type_ = array->type;
    own_shape_ = array->shape;
    own_strides_ = array->strides_bytes;
    shape_ = own_shape_.data();
    strides_ = own_strides_.data();
    dimensions_ = static_cast<int>(own_shape_.size());
    const DeviceInfo& info = memory_->session->device().info();
    backend_ = info.backend;
    device_ = info.index;
    side_ = Side::device;
    address_ = memory_->allocation->handle() + (info.has_addresses ? array->offset_bytes : 0);
    offset_bytes_ = info.has_addresses ? 0 : array->offset_bytes;
    return true;
}

bool Operand::take_plain_buffer(Refusal& refusal) {
    return is_plain_buffer(object_) && take_buffer(refusal);
}

bool Operand::take_buffer(Refusal& refusal) {
    if (PyObject_CheckBuffer(object_.ptr()) == 0) return false;
    buffer_.emplace();
    if (PyObject_GetBuffer(object_.ptr(), &*buffer_, PyBUF_FULL_RO) != 0) {
        buffer_.reset();
        const nb::python_error error;
        if (!error.matches(PyExc_Exception)) throw error;
        refusal.note(text_of(error.value()), nb::borrow(error.value()));
        return false;
    }
    const Py_buffer& buffer = *buffer_;
    for (int i = 0; buffer.suboffsets != nullptr && i < buffer.ndim; ++i) {
        if (buffer.suboffsets[i] >= 0) {
            refusal.note(
                "its rows are reached through pointers (suboffsets); pass each row by itself, or a copy of it all");
            return false;
        }
    }
    address_ = reinterpret_cast<std::uintptr_t>(buffer.buf);
    read_only_ = buffer.readonly != 0;
    type_ = type_of_format(buffer.format, static_cast<std::size_t>(buffer.itemsize));
    dimensions_ = buffer.ndim;
    shape_ = reinterpret_cast<const std::int64_t*>(buffer.shape);
    strides_ = reinterpret_cast<const std::int64_t*>(buffer.strides);
    name_type();
    return true;
}

}  // namespace isthmus::bindings
