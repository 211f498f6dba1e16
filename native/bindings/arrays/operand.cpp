// What a caller passes to a copy, and whether two of them belong together.
#include "bindings/arrays/operand.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "bindings/arrays/device_array.hpp"
#include "bindings/errors.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

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

// But for the first so many dimensions.
bool same_shape(const Operand& one, const Operand& other, int without) {
    if (one.dimensions() != other.dimensions()) return false;
    for (int i = without; i < one.dimensions(); ++i) {
        if (one.extent(i) != other.extent(i)) return false;
    }
    return true;
}

bool is_raw(const Operand& operand) {
    return operand.type().kind == 'V' && nb::hasattr(operand.object(), "dtype") &&
           nb::getattr(operand.object().attr("dtype"), "names", nb::none()).is_none();
}

bool same_type(const Operand& one, const Operand& other) {
    const ElementType& one_type = one.type();
    const ElementType& other_type = other.type();
    if (one_type.bytes != other_type.bytes) return false;
    // Types that NumPy lacks are raw bytes there.
    if (one_type.kind == 'X' && is_raw(other)) return true;
    if (other_type.kind == 'X' && is_raw(one)) return true;
    if (one_type != other_type) return false;
    if (one_type.is_plain()) return true;
    // Structures and units of time differ in more than their size.
    if (!nb::hasattr(one.object(), "dtype") || !nb::hasattr(other.object(), "dtype")) return true;
    return one.object().attr("dtype").equal(other.object().attr("dtype"));
}

// What NumPy makes a small array of.
bool is_plain_data(nb::handle object) {
    PyObject* const value = object.ptr();
    return PyFloat_Check(value) != 0 || PyLong_Check(value) != 0 || PyComplex_Check(value) != 0 ||
           PyList_Check(value) != 0 || PyTuple_Check(value) != 0 ||
           // What JAX traces says that it becomes an array, and does not.
           (nb::hasattr(object, "__array__") && !type_words(object).starts_with("jax"));
}

// What there is to do about a producer's refusal: "; pass x.detach()". Who finds that out looks at the object with its
// library's own functions, and is asked so alone.
std::string advice_on(nb::handle object, Role role, const std::string& why) {
    try {
        const nb::object find = nb::module_::import_("isthmus.transfer.refusals").attr("advice");
        return text_of(find(object, role == Role::destination, why));
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;
        return {};
    }
}

// How the array's own library converts, cuts and rearranges; what has neither is NumPy's to do.
std::string converting(nb::handle object) {
    if (nb::hasattr(object, "astype")) return "x.astype(dtype)";
    return nb::hasattr(object, "to") ? "x.to(dtype)" : "np.asarray(x).astype(dtype)";
}
std::string reinterpreting(nb::handle object) {
    return nb::hasattr(object, "view") ? "x.view(dtype)" : "np.asarray(x).view(dtype)";
}
std::string reshaping(nb::handle object) {
    return nb::hasattr(object, "reshape") ? "x.reshape(shape)" : "np.asarray(x).reshape(shape)";
}

[[noreturn]] void refuse_pair(const std::string& what) {
    raise(invalid(what));
}

}  // namespace

std::string text_of(nb::handle object) {
    PyObject* const string = PyObject_Str(object.ptr());
    Py_ssize_t length = 0;
    const char* const bytes = string == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(string, &length);
    std::string text;
    if (bytes != nullptr) text.assign(bytes, static_cast<std::size_t>(length));
    if (bytes == nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0) {
        Py_XDECREF(string);
        throw nb::python_error();
    }
    Py_XDECREF(string);
    if (bytes != nullptr) return text;
    PyErr_Clear();
    return "a " + type_words(object);
}

std::string type_words(nb::handle object) {
    const nb::handle type = object.type();
    std::string name = text_of(type.attr("__qualname__"));
    const std::string module = text_of(type.attr("__module__"));
    return module == "builtins" ? name : module.substr(0, module.find('.')) + "." + name;
}

Operand::Operand(nb::handle object, Role role, std::optional<std::uintptr_t> stream, Keep keep, CurrentStreams& current)
    : object_(nb::borrow(object)), role_(role) {
    Refusal refusal;
    Refusal in_c;
    if (!take_numpy(refusal) && !take_device_array() && !take_plain_buffer(refusal) &&
        !take_exchange(stream, keep, current, in_c) && !take_cupy(current, refusal) && !take_dlpack(stream, refusal) &&
        !take_cuda_interface(refusal) && !take_buffer(refusal)) {
        refusal.note(std::move(in_c.why), std::move(in_c.cause));
        if (!refusal.why.empty()) {
            raise("UsageError", who() + " cannot be shared: " + refusal.why + advice_on(object, role, refusal.why),
                  refusal.cause);
        }
        raise("WrongType", who() +
                               " is no array; expected NumPy's, anything with the buffer protocol, DLPack or "
                               "__cuda_array_interface__, or one that isthmus.to_device made" +
                               (role == Role::source && is_plain_data(object) ? "; np.asarray(x) makes one" : ""));
    }
    measure();
}

Operand::~Operand() {
    if (buffer_) PyBuffer_Release(&*buffer_);
}

std::string Operand::who() const {
    return std::string(role_ == Role::destination ? "the destination" : "the source") + " (" + type_words(object_) +
           ")";
}

void Operand::refuse(const std::string& what) const {
    raise(invalid(who() + " " + what));
}

ElementType Operand::known(Result<ElementType> type) const {
    if (!type.ok()) refuse(type.take_status().message());
    return type.value();
}

void Operand::measure() {
    if (type_.kind == 'O') {
        refuse("holds Python objects, which cannot be copied to or from a device; convert it to a number type first");
    }
    if (type_.kind == 'T') {
        refuse(
            "holds strings of any length, which are addresses of this process and mean nothing on a device; "
            "x.astype('U') gives them one length");
    }
    if (type_.kind == '&') {
        refuse(
            "holds addresses of this process, which mean nothing on a device; pass what they point to, such as "
            "np.ctypeslib.as_array(pointer, shape)");
    }
    std::size_t bytes = type_.bytes;
    bool is_empty = false;
    for (int i = 0; i < dimensions_; ++i) {
        if (shape_[i] < 0) refuse("has the shape " + shape_text(*this) + ", of which a length is negative");
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
            refuse("has the shape " + shape_text(*this) + ", the bytes of which overflow 63 bits");
        }
        elements_ *= static_cast<std::size_t>(shape_[i]);
    }
    if (address_ == 0 && memory_ == nullptr && backend_ != "opencl") {
        const std::string why = "says that its elements are at address 0: it has no memory";
        const std::string advice = advice_on(object_, role_, why);
        refuse(why +
               (!advice.empty() ? advice : ", as tensors that are only traced have none; pass one that holds data"));
    }
}

void Operand::name_type() {
    if (type_.kind == 'X' || type_.kind == '&' || type_.is_numpy()) return;
    static PyObject* const dtype_name = PyUnicode_InternFromString("dtype");
    static PyObject* const type_name = PyUnicode_InternFromString("type");
    static PyObject* const own_name = PyUnicode_InternFromString("__name__");
    Refusal ignored;
    std::string name;
    if (const nb::object dtype = attribute(object_, dtype_name, &ignored); dtype.is_valid()) {
        const nb::object scalar = attribute(dtype, type_name, &ignored);
        const nb::object own = scalar.is_valid() ? attribute(scalar, own_name, &ignored) : nb::object();
        name = text_of(own.is_valid() ? own : dtype);
        name.erase(0, name.rfind('.') + 1);  // torch.bfloat16
    }
    type_ = type_of_name(name, type_.bytes);
}

std::vector<int> Operand::memory_order() const {
    std::vector<int> order(static_cast<std::size_t>(dimensions_));
    std::iota(order.begin(), order.end(), 0);
    if (contiguous_) return order;
    // As NumPy keeps an order: what has one element or repeats itself says nothing of it, and stays where it is.
    const auto step = [&](int dimension) { return shape_[dimension] == 1 ? 0 : std::abs(strides_[dimension]); };
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (step(order[i]) == 0) continue;
        std::size_t place = i;
        for (std::size_t j = i; j-- > 0;) {
            if (step(order[j]) == 0) continue;
            if (step(order[j]) >= step(order[i])) break;
            place = j;
        }
        std::rotate(order.begin() + static_cast<std::ptrdiff_t>(place), order.begin() + static_cast<std::ptrdiff_t>(i),
                    order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    return order;
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

namespace {

void check_writable(const Operand& destination) {
    if (!destination.is_read_only()) return;
    const bool is_bytes = PyBytes_Check(destination.object().ptr()) != 0;
    const bool has_flags = nb::hasattr(destination.object(), "flags");
    refuse_pair("the destination (" + destination.text() + ") may not be written to; pass one that is writable: " +
                (is_bytes    ? "a bytearray in place of bytes"
                 : has_flags ? "a copy, or an array whose flags.writeable is set"
                             : "a bytearray, or an array of NumPy"));
}

void check_types(const Operand& destination, const Operand& source) {
    if ((destination.type() == source.type() && source.type().is_plain()) || same_type(destination, source)) return;
    refuse_pair("the types differ: the destination is " + destination.text() + ", the source " + source.text() +
                "; a copy converts nothing: convert the one on the host before it (" + converting(source.object()) +
                "), or use " + reinterpreting(source.object()) + " where the bytes are meant");
}

}  // namespace

void check_pair(const Operand& destination, const Operand& source) {
    check_writable(destination);
    const bool bytes = destination.type().is_byte() && source.type().is_byte() && destination.dimensions() == 1 &&
                       source.dimensions() == 1;
    if (!bytes) check_types(destination, source);
    if (!same_shape(destination, source, 0)) {
        refuse_pair("the shapes differ: the destination is " + destination.text() + ", the source " + source.text() +
                    "; a copy broadcasts nothing: slice one of them, or use " + reshaping(source.object()));
    }
}

void check_rows(const Operand& destination, const Operand& source) {
    check_writable(destination);
    check_types(destination, source);
    for (const Operand* const operand : {&destination, &source}) {
        if (operand->dimensions() > 0) continue;
        refuse_pair(std::string("the ") + (operand == &source ? "source" : "destination") + " (" + operand->text() +
                    ") has no rows: they are those of the first dimension");
    }
    if (!same_shape(destination, source, 1)) {
        refuse_pair("the shapes of rows differ: the destination is " + destination.text() + ", the source " +
                    source.text() + "; expected the same but for the first dimension: use " +
                    reshaping(source.object()));
    }
}

}  // namespace isthmus::bindings
