// Lists of integers that a caller passes.
#include "bindings/rows/integers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bindings/errors.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

constexpr const char* expected =
    "; expected a range, a slice, None for all, a sequence of ints, or an array of integers of one dimension";

// Numbers of any size, whose places may be any distance apart.
template <typename Number>
void read(std::vector<std::int64_t>& into, const std::byte* from, std::ptrdiff_t stride) {
    for (std::int64_t& value : into) {
        Number number{};
        std::memcpy(&number, from, sizeof number);
        from += stride;
        if constexpr (std::is_same_v<Number, std::uint64_t>) {
            value = static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
        } else {
            value = std::int64_t{number};
        }
    }
}

}  // namespace

Integers::Integers(nb::handle object, std::string name, std::optional<std::uintptr_t> stream, Keep keep,
                   CurrentStreams& current)
    : name_(std::move(name)) {
    if (object.is_none() || PySlice_Check(object.ptr()) != 0) {
        slice_ = object.is_none() ? nb::steal(PySlice_New(nullptr, nullptr, nullptr)) : nb::borrow(object);
        if (!slice_.is_valid()) throw nb::python_error();
    } else if (Py_TYPE(object.ptr()) == &PyRange_Type) {
        take_range(object);
    } else if (PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0) {
        take_sequence(object);
    } else {
        take_array(object, stream, keep, current);
    }
}

void Integers::refuse(const char* error, const std::string& what) const {
    raise(error, "the " + name_ + " " + what);
}

void Integers::resolve(std::int64_t rows) {
    if (!slice_.is_valid()) return;
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(slice_.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
    own_.resize(static_cast<std::size_t>(PySlice_AdjustIndices(rows, &start, &stop, step)));
    for (std::int64_t& row : own_) row = std::exchange(start, start + step);
    values_ = own_;
}

std::size_t Integers::stride_bytes() const {
    const bool apart = array_ && !array_->is_contiguous();
    return apart    ? static_cast<std::size_t>(array_->stride_bytes(0))
           : array_ ? array_->type().bytes
                    : sizeof(std::int64_t);
}

void Integers::take_range(nb::handle object) {
    const Py_ssize_t count = PyObject_Size(object.ptr());
    if (count < 0) throw nb::python_error();
    own_.resize(static_cast<std::size_t>(count));
    if (count > 0) {
        const auto number = [&](const char* name) {
            const long long value = PyLong_AsLongLong(nb::object(object.attr(name)).ptr());
            if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
            return value;
        };
        const std::int64_t start = number("start");
        const std::int64_t step = count > 1 ? number("step") : 0;
        for (Py_ssize_t i = 0; i < count; ++i) own_[static_cast<std::size_t>(i)] = start + i * step;
    }
    values_ = own_;
}

void Integers::take_sequence(nb::handle object) {
    const nb::object all = nb::steal(PySequence_Tuple(object.ptr()));
    if (!all.is_valid()) throw nb::python_error();
    own_.resize(nb::len(all));
    for (std::size_t i = 0; i < own_.size(); ++i) {
        const nb::handle item = PyTuple_GetItem(all.ptr(), static_cast<Py_ssize_t>(i));
        nb::object whole = nb::borrow(item);
        if (PyLong_Check(item.ptr()) == 0 || PyBool_Check(item.ptr()) != 0) {
            PyObject* const index = PyBool_Check(item.ptr()) != 0 ? nullptr : PyNumber_Index(item.ptr());
            if (index == nullptr) {
                PyErr_Clear();
                refuse("WrongType", "have " + text_of(item) + ", a " + type_words(item) + ", at place " +
                                        std::to_string(i) + expected);
            }
            whole = nb::steal(index);
        }
        int overflow = 0;
        own_[i] = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
        if (overflow != 0) own_[i] = overflow > 0 ? INT64_MAX : INT64_MIN;
        if (overflow == 0 && own_[i] == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    }
    values_ = own_;
}

void Integers::take_array(nb::handle object, std::optional<std::uintptr_t> stream, Keep keep, CurrentStreams& current) {
    try {
        array_.emplace(object, Role::source, stream, keep, current);
    } catch (nb::python_error& error) {
        if (!error.matches(error_class("WrongType"))) throw;
        refuse("WrongType", "are a " + type_words(object) + expected);
    }
    const ElementType& type = array_->type();
    if ((type.kind != 'i' && type.kind != 'u') || type.bytes > sizeof(std::int64_t)) {
        refuse("WrongType", "are a " + array_->text() + expected + "; x.nonzero() lists what a mask names");
    }
    if (array_->dimensions() != 1) refuse("UsageError", "are a " + array_->text() + expected);
    if (type.swapped) refuse("UsageError", "are a " + array_->text() + ", not in this machine's order of bytes");
    if (array_->backend().empty()) return read_host();
    const bool is_wide = type.bytes == sizeof(std::int64_t) || type.bytes == sizeof(std::int32_t);
    if (type.kind != 'i' || !is_wide) {
        refuse("WrongType", "are a " + array_->text() + ", on a device; expected int32 or int64 there");
    }
    if (!array_->is_contiguous() && array_->stride_bytes(0) <= 0) {
        refuse("UsageError", "are a " + array_->text() +
                                 ", on a device, whose numbers follow one another backwards or "
                                 "are one; pass a contiguous copy");
    }
}

void Integers::read_host() {
    const auto* const from =
        reinterpret_cast<const std::byte*>(array_->address());  // NOLINT(performance-no-int-to-ptr)
    const ElementType& type = array_->type();
    const bool is_signed = type.kind == 'i';
    const bool is_aligned = array_->address() % alignof(std::int64_t) == 0;
    if (is_signed && type.bytes == sizeof(std::int64_t) && array_->is_contiguous() && is_aligned) {
        values_ = {reinterpret_cast<const std::int64_t*>(from), array_->elements()};
        return;
    }
    own_.resize(array_->elements());
    const auto stride = array_->is_contiguous() ? static_cast<std::ptrdiff_t>(type.bytes) : array_->stride_bytes(0);
    switch (type.bytes) {
        case 1: is_signed ? read<std::int8_t>(own_, from, stride) : read<std::uint8_t>(own_, from, stride); break;
        case 2: is_signed ? read<std::int16_t>(own_, from, stride) : read<std::uint16_t>(own_, from, stride); break;
        case 4: is_signed ? read<std::int32_t>(own_, from, stride) : read<std::uint32_t>(own_, from, stride); break;
        default: is_signed ? read<std::int64_t>(own_, from, stride) : read<std::uint64_t>(own_, from, stride); break;
    }
    values_ = own_;
}

}  // namespace isthmus::bindings
