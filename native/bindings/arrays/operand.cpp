// What a caller passes to a copy, and whether two of them belong together.
#include "bindings/arrays/operand.hpp"

#include "bindings/arrays/device_array.hpp"
#include "bindings/errors.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// A type's attribute, or nothing where it has none of this name.
nb::object attribute_of_type(const Operand& operand, const char* name) {
    if (!nb::hasattr(operand.object(), "dtype")) return nb::none();
    return nb::getattr(operand.object().attr("dtype"), name, nb::none());
}

std::string type_words(nb::handle object) {
    const nb::handle type = object.type();
    std::string name = text_of(type.attr("__qualname__"));
    const std::string module = text_of(type.attr("__module__"));
    return module == "builtins" ? name : module.substr(0, module.find('.')) + "." + name;
}

std::string shape_text(const Operand& operand) {
    std::string text = "(";
    for (int i = 0; i < operand.dimensions(); ++i) text += (i > 0 ? ", " : "") + std::to_string(operand.extent(i));
    return text + (operand.dimensions() == 1 ? ",)" : ")");
}

std::string type_text(const Operand& operand) {
    if (!operand.type().is_plain() && nb::hasattr(operand.object(), "dtype")) {
        return text_of(operand.object().attr("dtype"));
    }
    return operand.type().text();
}

bool same_shape(const Operand& one, const Operand& other) {
    if (one.dimensions() != other.dimensions()) return false;
    for (int i = 0; i < one.dimensions(); ++i) {
        if (one.extent(i) != other.extent(i)) return false;
    }
    return true;
}

// What NumPy calls structures may be one of the types that other libraries have names for.
ElementType named_type(const Operand& operand) {
    if (operand.type().kind == 'V') {
        const nb::object name = attribute_of_type(operand, "name");
        if (!name.is_none()) return type_of_name(text_of(name), operand.type().bytes);
    }
    return operand.type();
}

bool is_raw(const Operand& operand, const ElementType& type) {
    return type.kind == 'V' && nb::hasattr(operand.object(), "dtype") && attribute_of_type(operand, "names").is_none();
}

bool same_type(const Operand& one, const Operand& other) {
    const ElementType one_type = named_type(one);
    const ElementType other_type = named_type(other);
    if (one_type.bytes != other_type.bytes) return false;
    // Types that NumPy lacks are raw bytes there.
    if (one_type.kind == 'X' && is_raw(other, other_type)) return true;
    if (other_type.kind == 'X' && is_raw(one, one_type)) return true;
    if (one_type != other_type) return false;
    if (one_type.is_plain()) return true;
    // Structures and units of time differ in more than their size.
    if (!nb::hasattr(one.object(), "dtype") || !nb::hasattr(other.object(), "dtype")) return true;
    return one.object().attr("dtype").equal(other.object().attr("dtype"));
}

// What NumPy makes a small array of.
bool is_plain_data(nb::handle object) {
    PyObject* const found = object.ptr();
    return PyFloat_Check(found) != 0 || PyLong_Check(found) != 0 || PyComplex_Check(found) != 0 ||
           PyList_Check(found) != 0 || PyTuple_Check(found) != 0;
}

[[noreturn]] void refuse(const std::string& what) {
    raise({Code::invalid_argument, what});
}

}  // namespace

std::string text_of(nb::handle object) {
    const nb::str text(object);
    Py_ssize_t length = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
    if (bytes == nullptr) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(length)};
}

Operand::Operand(nb::handle object, Role role, std::optional<std::uintptr_t> stream) : object_(nb::borrow(object)) {
    std::string refusal;
    if (!take_numpy(role) && !take_device_array() && !take_plain_buffer(refusal) &&
        !take_dlpack(role, stream, refusal) && !take_cuda_interface(refusal) && !take_buffer(refusal)) {
        const std::string who =
            std::string(role == Role::destination ? "the destination" : "the source") + " (" + type_words(object) + ")";
        if (!refusal.empty()) {
            const bool tracked = refusal.find("grad") != std::string::npos;
            refuse(who + " cannot be shared: " + refusal + (tracked ? "; pass x.detach()" : ""));
        }
        raise("WrongType", who +
                               " is no array; expected NumPy's, anything with the buffer protocol, DLPack or "
                               "__cuda_array_interface__, or one that isthmus.to_device made" +
                               (role == Role::source && is_plain_data(object) ? "; np.asarray(x) makes one" : ""));
    }
    measure();
}

Operand::~Operand() {
    if (buffer_) PyBuffer_Release(&*buffer_);
}

void Operand::measure() {
    if (type_.kind == 'O') {
        refuse(type_words(object_) +
               " of Python objects cannot be copied to or from a device; convert it to a number type first");
    }
    std::size_t bytes = type_.bytes;
    bool is_empty = false;
    for (int i = 0; i < dimensions_; ++i) {
        if (shape_[i] < 0) refuse("the shape of " + type_words(object_) + " is negative");
        is_empty = is_empty || shape_[i] == 0;
    }
    if (is_empty) {
        elements_ = 0;
        return;
    }
    for (int i = dimensions_ - 1; i >= 0; --i) {
        // What one step takes in an array without gaps is what all dimensions behind it fill.
        if (strides_ != nullptr && shape_[i] != 1 && stride_bytes(i) != static_cast<std::int64_t>(bytes)) {
            contiguous_ = false;
        }
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(shape_[i]), &bytes) || bytes > PTRDIFF_MAX) {
            refuse("the bytes of " + type_words(object_) + " of shape " + shape_text(*this) + " overflow 63 bits");
        }
        elements_ *= static_cast<std::size_t>(shape_[i]);
    }
}

ArrayView Operand::view() const {
    ArrayView view;
    view.address = address_;
    view.offset_bytes = offset_bytes_;
    view.element_bytes = type_.bytes;
    view.side = side_;
    view.shape.reserve(static_cast<std::size_t>(dimensions_));
    view.strides_bytes.resize(static_cast<std::size_t>(dimensions_));
    for (int i = 0; i < dimensions_; ++i) view.shape.push_back(static_cast<std::size_t>(shape_[i]));
    auto packed = static_cast<std::ptrdiff_t>(type_.bytes);
    for (int i = dimensions_ - 1; i >= 0; --i) {
        view.strides_bytes[static_cast<std::size_t>(i)] = contiguous_ ? packed : stride_bytes(i);
        packed *= shape_[i];
    }
    return view;
}

std::string Operand::text() const {
    return type_words(object_) + " of shape " + shape_text(*this) + ", " + type_text(*this);
}

void check_pair(const Operand& destination, const Operand& source) {
    if (destination.is_read_only()) {
        refuse("the destination (" + destination.text() +
               ") may not be written to; pass one that is writable: a copy, " +
               (nb::hasattr(destination.object(), "flags") ? "or an array whose flags.writeable is set"
                                                           : "or a bytearray in place of bytes"));
    }
    const bool bytes = destination.type().is_byte() && source.type().is_byte() && destination.dimensions() == 1 &&
                       source.dimensions() == 1;
    if (!bytes && (destination.type() != source.type() || !source.type().is_plain()) &&
        !same_type(destination, source)) {
        refuse("the types differ: the destination is " + destination.text() + ", the source " + source.text() +
               "; a copy converts nothing: use astype() before it, or view() where the bytes are meant");
    }
    if (!same_shape(destination, source)) {
        refuse("the shapes differ: the destination is " + destination.text() + ", the source " + source.text() +
               "; a copy broadcasts nothing: slice or reshape() one of them");
    }
}

}  // namespace isthmus::bindings
