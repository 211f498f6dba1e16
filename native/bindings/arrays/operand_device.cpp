// Operands of other libraries: DLPack and __cuda_array_interface__; and their streams.
#include <nanobind/stl/string.h>

#include "bindings/arrays/operand.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

nb::object attribute(nb::handle object, const char* name) {
    const nb::object key = nb::steal(interned(name));
    return bindings::attribute(object, key.ptr());
}

// With what producers of DLPack before 1.0 do not know yet, else without. A producer that refuses for any other reason
// is not asked again.
nb::object export_capsule(nb::handle producer, const nb::dict& arguments, Role role) {
    nb::dict all = nb::cast<nb::dict>(arguments.attr("copy")());
    all["max_version"] = nb::make_tuple(1, 1);
    // What is written to a copy would be lost.
    if (role == Role::destination) all["copy"] = false;
    while (nb::len(all) > nb::len(arguments)) {
        try {
            return or_sleep([&] { return producer(**all); });
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_TypeError)) throw;
            const std::string text = text_of(error.value());
            if (text.find("argument") == std::string::npos) throw;
            const bool has_versions = all.contains("copy") && text.find("'copy'") != std::string::npos;
            if (has_versions) {
                nb::del(all["copy"]);
            } else {
                all = arguments;
            }
        }
    }
    return or_sleep([&] { return producer(**arguments); });
}

// What Python's repr() gives; where that fails, what type the object is of.
std::string repr_of(nb::handle object) {
    PyObject* const text = PyObject_Repr(object.ptr());
    if (text != nullptr) return text_of(nb::steal(text));
    const nb::python_error error;
    if (!error.matches(PyExc_Exception)) throw error;
    return "a " + type_words(object);
}

// What a protocol says, or nothing and a refusal where it is not what the protocol has there.
template <typename Read>
auto read(const char* what, nb::handle value, const char* expected, Refusal& refusal, const Read& read_it)
    -> std::optional<decltype(read_it())> {
    nb::object cause;
    try {
        return read_it();
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;
        cause = nb::borrow(error.value());
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nanobind has several for one mistake
    }
    refusal.note(std::string("its ") + what + " " + repr_of(value) + "; expected " + expected, cause);
    return std::nullopt;
}

std::int64_t whole(nb::handle value) {
    if (PyLong_CheckExact(value.ptr()) != 0) return nb::cast<std::int64_t>(value);
    return nb::cast<std::int64_t>(nb::int_(nb::borrow<nb::object>(value)));
}

}  // namespace

PyObject* interned(const char* name) {
    PyObject* const text = PyUnicode_InternFromString(name);
    if (text == nullptr) throw nb::python_error();
    return text;
}

bool is_immutable(nb::handle object) {
    const std::string module = text_of(object.type().attr("__module__"));
    return module.starts_with("jax");
}

std::vector<std::int64_t> wholes(nb::handle values) {
    std::vector<std::int64_t> result;
    if (PyTuple_CheckExact(values.ptr()) != 0) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(values.ptr()); ++i) {
            result.push_back(whole(PyTuple_GetItem(values.ptr(), i)));
        }
        return result;
    }
    for (const nb::handle value : values) result.push_back(whole(value));
    return result;
}

nb::object attribute(nb::handle object, PyObject* name, Refusal* refusal) {
    PyObject* const value = or_sleep([&] { return PyObject_GetAttr(object.ptr(), name); });
    if (value != nullptr) return nb::steal(value);
    // Properties may say by more than one exception that there is none.
    if (PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
        PyErr_Clear();
        return {};
    }
    const nb::python_error error;
    if (refusal == nullptr || !error.matches(PyExc_Exception)) throw error;
    refusal->note(text_of(error.value()), nb::borrow(error.value()));
    return {};
}

bool Operand::take_dlpack(std::optional<std::uintptr_t> stream, Refusal& refusal) {
    static PyObject* const device_name = interned("__dlpack_device__");
    static PyObject* const producer_name = interned("__dlpack__");
    // An exception for want of it would take a fifth of what all else here does.
    if (or_sleep([&] { return PyObject_HasAttr(object_.ptr(), device_name); }) == 0) return false;
    const nb::object where = attribute(object_, device_name, &refusal);
    const nb::object producer = where.is_valid() ? attribute(object_, producer_name, &refusal) : nb::object();
    if (!producer.is_valid()) return false;
    if (role_ == Role::destination && is_immutable(object_)) {
        refuse(
            "is an array of JAX, which nothing may change; copy into another library's array, or make a new one with "
            "jax.device_put or jax.dlpack.from_dlpack");
    }
    if (!check_bits(std::nullopt, refusal)) return false;
    try {
        const nb::object device = or_sleep([&] { return where(); });
        const auto kind = read("__dlpack_device__ gives", device, "(type, index)", refusal,
                               [&] { return whole(nb::object(device[0])); });
        if (!kind) return false;
        nb::dict arguments;
        if (*kind == dlpack::cuda || *kind == dlpack::cuda_managed) {
            ready_ = waiting_stream(stream);
            arguments["stream"] = *ready_;
        }
        capsule_ = export_capsule(producer, arguments, role_);
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;
        refusal.note(text_of(error.value()), nb::borrow(error.value()));
    }
    if (capsule_.is_valid() && take_capsule(refusal)) return true;
    ready_.reset();
    return false;
}

bool Operand::take_capsule(Refusal& refusal) {
    if (PyCapsule_IsValid(capsule_.ptr(), dlpack::versioned_name) != 0) {
        const auto* const tensor =
            static_cast<const dlpack::VersionedTensor*>(PyCapsule_GetPointer(capsule_.ptr(), dlpack::versioned_name));
        if (tensor->version.major != 1) {
            refusal.note("its DLPack is of version " + std::to_string(tensor->version.major) + "; expected 1");
            return false;
        }
        if (role_ == Role::destination && (tensor->flags & dlpack::is_copied) != 0) {
            refusal.note(
                "its __dlpack__ gives a copy, in which what is written would be lost; pass an array that "
                "shares its memory, and hand what has arrived on from there");
            return false;
        }
        read_only_ = (tensor->flags & dlpack::read_only) != 0;
        take_tensor(tensor->tensor, tensor->flags);
        return true;
    }
    if (PyCapsule_IsValid(capsule_.ptr(), dlpack::name) == 0) {
        refusal.note("its __dlpack__ gives " + repr_of(capsule_) + "; expected a capsule with a new tensor");
        return false;
    }
    const auto* const tensor =
        static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule_.ptr(), dlpack::name));
    take_tensor(tensor->tensor, 0);
    return true;
}

void Operand::take_tensor(const dlpack::Tensor& tensor, std::uint64_t flags) {
    type_ = known(type_of_dlpack(tensor.type, (flags & dlpack::is_padded) != 0));
    name_small_integers();
    place_tensor(tensor);
}

void Operand::place_tensor(const dlpack::Tensor& tensor) {
    dimensions_ = tensor.dimensions;
    shape_ = tensor.shape;
    strides_ = tensor.strides;
    stride_unit_ = static_cast<std::int64_t>(type_.bytes);
    address_ = reinterpret_cast<std::uintptr_t>(tensor.data);
    switch (tensor.device.type) {
        case dlpack::cpu:
        case dlpack::cuda_host: address_ += tensor.byte_offset; return;
        case dlpack::cuda:
        case dlpack::cuda_managed:
            address_ += tensor.byte_offset;
            backend_ = "cuda";
            side_.reset();
            if (tensor.device.type == dlpack::cuda) side_ = Side::device;
            break;
        case dlpack::opencl:
            offset_bytes_ = tensor.byte_offset;
            backend_ = "opencl";
            side_ = Side::device;
            break;
        default:
            refuse("is of DLPack's device type " + std::to_string(tensor.device.type) +
                   ", which is not understood; there are CPU (1), CUDA (2), CUDA's pinned (3) and managed (13) memory, "
                   "and OpenCL (4)");
    }
    device_ = tensor.device.id;
}

bool Operand::take_cuda_interface(Refusal& refusal) {
    static PyObject* const protocol = interned("__cuda_array_interface__");
    static const struct {
        PyObject* mask = interned("mask");
        PyObject* data = interned("data");
        PyObject* shape = interned("shape");
        PyObject* typestr = interned("typestr");
        PyObject* strides = interned("strides");
        PyObject* stream = interned("stream");
    } keys;
    const nb::object interface = attribute(object_, protocol, &refusal);
    if (!interface.is_valid()) return false;
    if (PyDict_Check(interface.ptr()) == 0) {
        refusal.note("its __cuda_array_interface__ is no dictionary");
        return false;
    }
    const auto get = [&](PyObject* key) {
        PyObject* const value = PyDict_GetItemWithError(interface.ptr(), key);
        if (value == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
        return value == nullptr ? nb::none() : nb::borrow<nb::object>(value);
    };
    if (!get(keys.mask).is_none()) {
        refuse("has a mask, which would not be copied; pass its data and its mask by themselves");
    }
    const nb::object data = get(keys.data);
    const nb::object lengths = get(keys.shape);
    const nb::object name = get(keys.typestr);
    if (PyTuple_Check(data.ptr()) == 0 || PyTuple_Size(data.ptr()) != 2 || lengths.is_none() || name.is_none()) {
        refusal.note("its __cuda_array_interface__ lacks data, shape or typestr; expected version 2 or 3 of it");
        return false;
    }
    const auto shape = read("__cuda_array_interface__ has shape", lengths, "a tuple of lengths", refusal,
                            [&] { return wholes(lengths); });
    const auto type = read("__cuda_array_interface__ has typestr", name, "a text such as '<f4'", refusal,
                           [&] { return nb::cast<std::string>(name); });
    const auto pair =
        read("__cuda_array_interface__ has data", data, "(address, whether it is read-only)", refusal, [&] {
            const auto address = nb::borrow(PyTuple_GetItem(data.ptr(), 0));
            const auto flag = nb::borrow(PyTuple_GetItem(data.ptr(), 1));
            std::uintptr_t number = 0;
            if (!address.is_none()) number = nb::cast<std::uintptr_t>(nb::int_(address));
            return std::pair(number, nb::cast<bool>(nb::bool_(flag)));
        });
    if (!shape || !type || !pair) return false;
    own_shape_ = *shape;
    shape_ = own_shape_.data();
    dimensions_ = static_cast<int>(own_shape_.size());
    type_ = known(type_of_typestr(*type));
    if (const nb::object found_strides = get(keys.strides); !found_strides.is_none()) {
        const auto strides = read("__cuda_array_interface__ has strides", found_strides, "None or a tuple of bytes",
                                  refusal, [&] { return wholes(found_strides); });
        if (!strides) return false;
        own_strides_ = *strides;
        if (own_strides_.size() != own_shape_.size()) {
            refusal.note("its __cuda_array_interface__ has " + std::to_string(own_strides_.size()) + " strides for " +
                         std::to_string(own_shape_.size()) + " dimensions");
            return false;
        }
        strides_ = own_strides_.data();
    }
    address_ = pair->first;
    read_only_ = pair->second;
    if (const nb::object found_stream = get(keys.stream); !found_stream.is_none()) {
        const auto stream = read("__cuda_array_interface__ has stream", found_stream, "None, 1, 2 or a handle", refusal,
                                 [&] { return whole(found_stream); });
        if (!stream) return false;
        if (*stream <= 0) {
            refusal.note("its __cuda_array_interface__ names stream " + std::to_string(*stream) +
                         "; expected None, 1, 2 or a handle");
            return false;
        }
        ready_ = static_cast<std::uintptr_t>(*stream);
    }
    name_type();
    backend_ = "cuda";
    side_.reset();  // Also managed and mapped memory comes here.
    return true;
}

std::optional<std::uintptr_t> stream_of(nb::handle stream) {
    if (stream.is_none()) return std::nullopt;
    const auto handle_of = [](nb::handle value) -> std::optional<std::uintptr_t> {
        if (value.is_none()) return 0;  // How ctypes writes a null pointer.
        if (PyLong_Check(value.ptr()) == 0 || PyBool_Check(value.ptr()) != 0) return std::nullopt;
        const std::uintptr_t number = PyLong_AsUnsignedLongLong(value.ptr());
        if (PyErr_Occurred() != nullptr) {
            const nb::python_error overflow;
            raise(invalid("no stream has the handle " + text_of(value)));
        }
        return number;
    };
    if (PyLong_Check(stream.ptr()) != 0) {
        if (const auto number = handle_of(stream)) return number;
    } else if (const nb::object protocol = attribute(stream, "__cuda_stream__"); protocol.is_valid()) {
        const nb::object answer = PyCallable_Check(protocol.ptr()) != 0 ? nb::object(protocol()) : protocol;
        if (nb::isinstance<nb::tuple>(answer) && nb::len(answer) == 2) {
            if (const auto number = handle_of(nb::object(answer[1]))) return number;
        }
    } else {
        // torch, CuPy, Isthmus and Numba, pyopencl
        for (const char* const name : {"cuda_stream", "ptr", "handle", "int_ptr"}) {
            const nb::object handle = attribute(stream, name);
            if (!handle.is_valid()) continue;
            const nb::object value = attribute(handle, "value");
            if (const auto number = handle_of(value.is_valid() ? value : handle)) return number;
        }
    }
    raise("WrongType", "the stream is of type " + text_of(stream.type().attr("__name__")) +
                           "; expected None, a handle as an int, or a stream of torch (cuda_stream), CuPy (ptr), Numba "
                           "(handle), pyopencl (int_ptr) or with __cuda_stream__");
}

}  // namespace isthmus::bindings
