// Arrays of CuPy: views of one base are read by their own attributes, which take a fraction of what a protocol does.
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "bindings/arrays/exchange.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/gil.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// The whole numbers of a tuple; false where it is none, or has others.
bool read_tuple(nb::handle tuple, std::array<std::int64_t, 8>& few, std::vector<std::int64_t>& many,
                const std::int64_t*& numbers, std::size_t& count) {
    if (!tuple.is_valid() || PyTuple_CheckExact(tuple.ptr()) == 0) return false;
    count = static_cast<std::size_t>(PyTuple_Size(tuple.ptr()));
    if (count > few.size()) many.resize(count);
    std::int64_t* const to = count > few.size() ? many.data() : few.data();
    for (std::size_t i = 0; i < count; ++i) {
        PyObject* const value = PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(i));
        int overflow = 0;
        if (PyLong_CheckExact(value) == 0) return false;
        to[i] = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow != 0) return false;
    }
    numbers = to;
    return true;
}

// Where DLPack says that the memory is; nothing where it does not, or where it is none of CUDA's.
std::optional<dlpack::Device> device_of(nb::handle object, Refusal& refusal) {
    static PyObject* const name = interned("__dlpack_device__");
    const nb::object where = attribute(object, name, &refusal);
    if (!where.is_valid()) return std::nullopt;
    const nb::object place = or_sleep([&] { return where(); });
    std::array<std::int64_t, 8> few{};
    std::vector<std::int64_t> many;
    const std::int64_t* pair = nullptr;
    std::size_t count = 0;
    if (!read_tuple(place, few, many, pair, count) || count != 2) return std::nullopt;
    if (pair[0] != dlpack::cuda && pair[0] != dlpack::cuda_managed) return std::nullopt;
    return dlpack::Device{static_cast<std::int32_t>(pair[0]), static_cast<std::int32_t>(pair[1])};
}

}  // namespace

// The interface names the stream that the array's work is on. CuPy can be told to leave that out; then DLPack makes the
// copy's stream wait for it.
bool Operand::take_cupy(CurrentStreams& current, Refusal& refusal) {
    static LibraryType arrays("cupy", "ndarray");
    static const struct {
        PyObject* base = interned("base");
        PyObject* dtype = interned("dtype");
        PyObject* data = interned("data");
        PyObject* pointer = interned("ptr");
        PyObject* shape = interned("shape");
        PyObject* strides = interned("strides");
    } names;
    // An heir may say otherwise of its memory.
    if (!arrays.has(object_) || Py_TYPE(object_.ptr()) != arrays.type()) return false;
    nb::object base = attribute(object_, names.base, &refusal);
    nb::object dtype = attribute(object_, names.dtype, &refusal);
    if (!base.is_valid() || !dtype.is_valid()) return false;
    if (base.is_none()) base = object_;
    CurrentStreams::Base& known = current.base_of(role_ == Role::destination);
    if (known.base.is(base) && known.dtype.is(dtype)) {
        const nb::object data = attribute(object_, names.data, &refusal);
        const nb::object pointer = data.is_valid() ? attribute(data, names.pointer, &refusal) : nb::object();
        std::size_t lengths = 0, steps = 0;
        if (pointer.is_valid() && PyLong_CheckExact(pointer.ptr()) != 0 &&
            read_tuple(attribute(object_, names.shape, &refusal), few_lengths_, own_shape_, shape_, lengths) &&
            read_tuple(attribute(object_, names.strides, &refusal), few_strides_, own_strides_, strides_, steps) &&
            lengths == steps) {
            address_ = PyLong_AsUnsignedLongLongMask(pointer.ptr());
            dimensions_ = static_cast<int>(lengths);
            type_ = known.type;
            ready_ = known.stream;
            take_device(known.device);
            return true;
        }
        strides_ = nullptr;
    }
    const auto device = device_of(object_, refusal);
    if (!device || !take_cuda_interface(refusal)) return false;
    if (!ready_) {
        backend_ = {};
        side_ = Side::host;
        read_only_ = false;
        return false;
    }
    known = {std::move(base), std::move(dtype), type_, *ready_, *device};
    take_device(*device);
    return true;
}

void Operand::take_device(dlpack::Device device) {
    backend_ = "cuda";
    side_.reset();
    if (device.type == dlpack::cuda) side_ = Side::device;
    device_ = device.id;
    kept_by_object_ = true;
}

}  // namespace isthmus::bindings
