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

// numpy.ndarray, or null while nobody has imported NumPy: then there is no array of it.
PyTypeObject* array_type() {
    static PyTypeObject* type = nullptr;  // NumPy cannot be loaded twice
    if (type == nullptr) {
        PyObject* const modules = PyImport_GetModuleDict();
        PyObject* const numpy = PyDict_GetItemString(modules, "numpy");
        if (numpy == nullptr) return nullptr;
        type = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy, "ndarray"));
        if (type == nullptr) PyErr_Clear();  // It is being imported at this moment.
    }
    return type;
}

// Of Python's own memory, which speaks the buffer protocol alone: that it has no other attribute takes long to find.
bool is_plain_buffer(nb::handle object) {
    PyObject* const found = object.ptr();
    return PyMemoryView_Check(found) != 0 || PyByteArray_CheckExact(found) != 0 || PyBytes_CheckExact(found) != 0;
}

bool is_masked(nb::handle object) {
    return nb::hasattr(object, "mask") && nb::hasattr(object, "fill_value");
}

}  // namespace

bool Operand::take_numpy(Role) {
    PyTypeObject* const type = array_type();
    if (type == nullptr || PyObject_TypeCheck(object_.ptr(), type) == 0) return false;
    if (Py_TYPE(object_.ptr()) != type && is_masked(object_)) {
        raise({Code::invalid_argument,
               "a masked array's mask would not be copied; pass its .data, or what .filled() gives"});
    }
    take_array_struct();
    kept_by_object_ = true;
    return true;
}

void Operand::take_array_struct() {
    static PyObject* const name = PyUnicode_InternFromString("__array_struct__");
    PyObject* const found = PyObject_GetAttr(object_.ptr(), name);
    if (found == nullptr) throw nb::python_error();
    capsule_ = nb::steal(found);
    const auto* const array = static_cast<const ArrayStruct*>(PyCapsule_GetPointer(found, nullptr));
    if (array == nullptr) throw nb::python_error();
    if (array->two != 2) raise({Code::invalid_argument, "an array's __array_struct__ is of another version"});
    address_ = reinterpret_cast<std::uintptr_t>(array->data);
    type_ = {.kind = array->kind, .bytes = static_cast<std::size_t>(array->item_bytes)};
    type_.swapped = (array->flags & native_order) == 0 && type_.bytes > 1;
    // NumPy 2's strings of any length are pointers.
    if (type_.kind == 'T') type_.kind = 'O';
    read_only_ = (array->flags & writeable) == 0;
    if (array->description != nullptr) {
        // NumPy clears all other flags where there are fields: it writes &= for |=.
        type_.swapped = false;
        read_only_ = nb::object(object_.attr("flags").attr("writeable")).is(nb::borrow(Py_False));
    }
    dimensions_ = array->dimensions;
    shape_ = array->shape;
    strides_ = array->strides;
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
    // Only OpenCL's memory has no addresses.
    const bool has_addresses = backend_ != "opencl";
    address_ = memory_->allocation->handle() + (has_addresses ? array->offset_bytes : 0);
    offset_bytes_ = has_addresses ? 0 : array->offset_bytes;
    return true;
}

bool Operand::take_plain_buffer(std::string& refusal) {
    return is_plain_buffer(object_) && take_buffer(refusal);
}

bool Operand::take_buffer(std::string& refusal) {
    if (PyObject_CheckBuffer(object_.ptr()) == 0) return false;
    buffer_.emplace();
    if (PyObject_GetBuffer(object_.ptr(), &*buffer_, PyBUF_FULL_RO) != 0) {
        buffer_.reset();
        const nb::python_error error;
        if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_ValueError)) throw error;
        if (refusal.empty()) refusal = text_of(error.value());
        return false;
    }
    const Py_buffer& buffer = *buffer_;
    for (int i = 0; buffer.suboffsets != nullptr && i < buffer.ndim; ++i) {
        if (buffer.suboffsets[i] >= 0) {
            refusal =
                "its rows are reached through pointers (suboffsets); pass each row by itself, or a copy of it all";
            return false;
        }
    }
    address_ = reinterpret_cast<std::uintptr_t>(buffer.buf);
    read_only_ = buffer.readonly != 0;
    type_ = type_of_format(buffer.format, static_cast<std::size_t>(buffer.itemsize));
    dimensions_ = buffer.ndim;
    shape_ = reinterpret_cast<const std::int64_t*>(buffer.shape);
    strides_ = reinterpret_cast<const std::int64_t*>(buffer.strides);
    return true;
}

}  // namespace isthmus::bindings
