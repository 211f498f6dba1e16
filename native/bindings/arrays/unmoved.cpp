// Whether arrays that are copied again and again are where they were, by the cheapest exact look at each kind.
#include "bindings/arrays/unmoved.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "base/fork.hpp"
#include "base/processors.hpp"
#include "base/worker_group.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// The fields of NumPy's arrays, whose places its headers compile into every extension, so that they stay (PyArray_DATA
// and the like): https://numpy.org/doc/stable/reference/c-api/types-and-structures.html#c.PyArrayObject
struct NumpyFields {
    PyObject head;
    void* data;
    int dimensions;
    std::int64_t* shape;
    std::int64_t* strides;
    PyObject* base;
    PyObject* description;
    int flags;
};
constexpr int may_be_written = 0x400;

constexpr const char* elsewhere = "has its memory at another address than then";
constexpr const char* reshaped = "has another shape or strides than then";
constexpr const char* read_only = "may not be written to, as it might be then";
constexpr const char* retyped = "has elements of another type than then";

const NumpyFields& numpy_fields(PyObject* object) {
    return *reinterpret_cast<const NumpyFields*>(object);
}

bool equal(const std::int64_t* numbers, const std::vector<std::int64_t>& others) {
    return std::memcmp(numbers, others.data(), others.size() * sizeof(std::int64_t)) == 0;
}

// Whether its memory stays where it is for as long as it is held. Python's own arrays do, while a lock of the buffer
// protocol is held; ctypes.resize() heeds none. NumPy's numbers never change, and are exported anew each time.
bool is_fixed(const Operand& operand) {
    static LibraryType numbers("numpy", "generic"), arrays("array", "array"), files("mmap", "mmap");
    const nb::handle object = operand.object();
    if (!operand.is_locked_buffer()) return !operand.is_kept_by_object() && numbers.has(object);
    const bool is_exact = object.type().ptr() == reinterpret_cast<PyObject*>(arrays.type()) ||
                          object.type().ptr() == reinterpret_cast<PyObject*>(files.type());
    return PyBytes_CheckExact(object.ptr()) != 0 || PyByteArray_CheckExact(object.ptr()) != 0 ||
           PyMemoryView_Check(object.ptr()) != 0 || is_exact;
}

// One thread has seen fewer before others are awake: what is looked at is in no cache, and one waits for most of it.
constexpr std::size_t least_on_threads = 8192;
constexpr std::size_t most_threads = 15;
constexpr std::size_t part = 1024;
// They read memory alone. Only a process that is stopped takes any time.
constexpr double limit_seconds = 1e6;

// Null where there is one processor, or no room for threads. Those of a process that was forked are not in its child.
WorkerGroup* threads() {
    static unsigned generation = fork_generation();
    static bool started = false;
    static std::unique_ptr<WorkerGroup>* const group = new std::unique_ptr<WorkerGroup>;  // outlives the interpreter
    if (generation != fork_generation()) {
        keep_for_good(std::move(*group));
        generation = fork_generation();
        started = false;
    }
    if (!std::exchange(started, true)) {
        const std::size_t count = std::min(allowed_processors() - 1, most_threads);
        if (count > 0) {
            auto begun = WorkerGroup::start(count);
            if (begun.ok()) *group = std::move(begun.value());
        }
    }
    return group->get();
}

// Whether `holds` says yes of all parts [begin, end) of so many things, each of which is asked for once, or of none
// after the first no. The threads stay for the next call. Precondition: the interpreter's lock is held, so that there
// is one caller at a time and what Python objects have stays as it is; `holds` throws nothing and uses nothing of the
// interpreter's but memory.
bool all_hold(std::size_t count, const std::function<bool(std::size_t begin, std::size_t end)>& holds) {
    WorkerGroup* const group = count < least_on_threads ? nullptr : threads();
    if (group == nullptr) return holds(0, count);
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> all = true;
    const auto look = [&](std::size_t, const std::atomic<bool>&) -> Status {
        while (all) {
            const std::size_t begin = next.fetch_add(part);
            if (begin >= count) break;
            if (!holds(begin, std::min(begin + part, count))) all = false;
        }
        return {};
    };
    const std::size_t others = std::max<std::size_t>(count / least_on_threads * 2 - 1, 1);
    const Status status = group->run_with_caller(look, {limit_seconds, "looking at arrays"}, others);
    return status.ok() ? all.load() : holds(0, count);
}

}  // namespace

bool Unmoved::Form::is_same(const Form& other) const {
    return kind == other.kind && shape == other.shape && strides == other.strides &&
           description.is(other.description) && table == other.table &&
           std::memcmp(&type, &other.type, sizeof type) == 0 && torch == other.torch && device == other.device &&
           element_type == other.element_type && offset_bytes == other.offset_bytes &&
           is_on_device == other.is_on_device;
}

// As the operand was read, so that a NumPy that keeps its fields elsewhere is asked by its protocol.
bool Unmoved::take_numpy(const Operand& operand, Form& form) const {
    static LibraryType arrays("numpy", "ndarray");
    if (!arrays.has(operand.object()) ||
        nb::cast<std::size_t>(operand.object().type().attr("__basicsize__")) < sizeof(NumpyFields)) {
        return false;
    }
    const NumpyFields& fields = numpy_fields(operand.object().ptr());
    const bool is_read_only = (fields.flags & may_be_written) == 0;
    if (reinterpret_cast<std::uintptr_t>(fields.data) != operand.address() ||
        fields.dimensions != operand.dimensions() || is_read_only != operand.is_read_only() ||
        !nb::object(operand.object().attr("dtype")).is(nb::handle(fields.description))) {
        return false;
    }
    for (int i = 0; i < fields.dimensions; ++i) {
        if (fields.shape[i] != operand.extent(i)) return false;
        if (!operand.is_contiguous() && fields.strides[i] != operand.stride_bytes(i)) return false;
    }
    form.kind = Kind::numpy;
    form.description = nb::borrow(fields.description);
    form.shape.assign(fields.shape, fields.shape + fields.dimensions);
    form.strides.assign(fields.strides, fields.strides + fields.dimensions);
    return true;
}

bool Unmoved::take_exchanged(const Operand& operand, Form& form, TorchFields& fields) const {
    const dlpack::ExchangeTable* const table = exchange_of(operand.object());
    dlpack::Tensor view{};
    if (table == nullptr || table->view == nullptr) return false;
    // No view says that something may not be written to; all tensors of torch may.
    if (role_ == Role::destination && !is_tensor_of_torch(operand.object())) return false;
    if (or_sleep([&] { return table->view(operand.object().ptr(), &view); }) != 0) {
        PyErr_Clear();
        return false;
    }
    // Nor that a tensor is conjugated.
    if (view.type.code == dlpack::complex_code) return false;
    if (reinterpret_cast<std::uintptr_t>(view.data) + view.byte_offset != operand.address() ||
        view.dimensions != operand.dimensions()) {
        return false;
    }
    form.kind = Kind::exchanged;
    form.table = table;
    form.type = view.type;
    form.device = view.device;
    form.shape.assign(view.shape, view.shape + view.dimensions);
    if (view.strides != nullptr) form.strides.assign(view.strides, view.strides + view.dimensions);
    if (is_tensor_of_torch(operand.object())) {
        fields = TorchFields::of(operand.object(), view, form.torch).value_or(TorchFields());
    }
    return true;
}

void Unmoved::add(const Operand& operand) {
    static LibraryType arrays_of_cupy("cupy", "ndarray");
    Form form;
    TorchFields fields;
    if (operand.memory() != nullptr || is_fixed(operand)) {
        form.kind = Kind::locked;
    } else if (!take_numpy(operand, form) && !take_exchanged(operand, form, fields)) {
        const ArrayView view = operand.view();
        form.kind = arrays_of_cupy.has(operand.object()) &&
                            reinterpret_cast<PyTypeObject*>(operand.object().type().ptr()) == arrays_of_cupy.type()
                        ? Kind::cupy
                        : Kind::asked;
        form.element_type = operand.type();
        form.offset_bytes = operand.offset_bytes();
        form.is_on_device = !operand.backend().empty();
        form.shape.assign(view.shape.begin(), view.shape.end());
        form.strides.assign(view.strides_bytes.begin(), view.strides_bytes.end());
    }
    are_locked_ = are_locked_ && form.kind == Kind::locked;
    are_read_ = are_read_ && (form.kind == Kind::locked || form.kind == Kind::numpy || fields.tensor != nullptr);
    are_asked_ = are_asked_ || form.kind == Kind::asked || form.kind == Kind::cupy;
    if (forms_.empty() || !forms_.back().is_same(form)) {
        const bool has_stream =
            form.kind == Kind::exchanged && form.device.is_cuda() &&
            std::ranges::none_of(producers_, [&](std::size_t known) {
                return forms_[known].table == form.table && forms_[known].device.id == form.device.id;
            });
        if (has_stream) producers_.push_back(forms_.size());
        forms_.push_back(std::move(form));
    }
    arrays_.push_back({operand.object().ptr(), operand.address(), forms_.size() - 1, fields});
}

const char* Unmoved::change_of_numpy(const Array& array) const {
    const NumpyFields& now = numpy_fields(array.object);
    const Form& form = forms_[array.form];
    if (reinterpret_cast<std::uintptr_t>(now.data) != array.address) return elsewhere;
    if (now.description != form.description.ptr()) return retyped;
    if (static_cast<std::size_t>(now.dimensions) != form.shape.size() || !equal(now.shape, form.shape) ||
        !equal(now.strides, form.strides)) {
        return reshaped;
    }
    return role_ == Role::destination && (now.flags & may_be_written) == 0 ? read_only : nullptr;
}

const char* Unmoved::change_of_exchanged(const Array& array) const {
    const Form& form = forms_[array.form];
    dlpack::Tensor now{};
    if (or_sleep([&] { return form.table->view(array.object, &now); }) != 0) {
        PyErr_Clear();
        return "is no plain memory any more";
    }
    if (reinterpret_cast<std::uintptr_t>(now.data) + now.byte_offset != array.address) return elsewhere;
    if (now.device != form.device) return "is on another device than then";
    if (std::memcmp(&now.type, &form.type, sizeof form.type) != 0) return retyped;
    if (static_cast<std::size_t>(now.dimensions) != form.shape.size() || !equal(now.shape, form.shape) ||
        (now.dimensions > 0 && (now.strides == nullptr) != form.strides.empty()) ||
        (now.strides != nullptr && !equal(now.strides, form.strides))) {
        return reshaped;
    }
    return nullptr;
}

const char* Unmoved::change_of_asked(const Array& array, const Operand& now) const {
    const Form& form = forms_[array.form];
    if (now.address() != array.address || now.offset_bytes() != form.offset_bytes) return elsewhere;
    if (now.type() != form.element_type) return retyped;
    if (role_ == Role::destination && now.is_read_only()) return read_only;
    const ArrayView view = now.view();
    if (!std::ranges::equal(
            view.shape, form.shape,
            [](std::size_t one, std::int64_t other) { return static_cast<std::int64_t>(one) == other; }) ||
        !std::ranges::equal(view.strides_bytes, form.strides)) {
        return reshaped;
    }
    return nullptr;
}

bool Unmoved::is_still(const Array& array) const {
    const Form& form = forms_[array.form];
    switch (form.kind) {
        case Kind::locked: return true;
        case Kind::numpy: return change_of_numpy(array) == nullptr;
        default:
            return array.fields.tensor != nullptr && array.fields.is_still(array.object, array.address, form.torch);
    }
}

bool Unmoved::are_still(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
        prefetch(i);
        if (!is_still(arrays_[i])) return false;
    }
    return true;
}

bool Unmoved::are_still(const Unmoved& one, const Unmoved& other) {
    if (!one.are_read_ || !other.are_read_) return false;
    const std::size_t first = one.are_locked_ ? 0 : one.arrays_.size();
    const std::size_t second = other.are_locked_ ? 0 : other.arrays_.size();
    return all_hold(first + second, [&](std::size_t begin, std::size_t end) {
        return one.are_still(std::min(begin, first), std::min(end, first)) &&
               other.are_still(std::max(begin, first) - first, std::max(end, first) - first);
    });
}

void Unmoved::refuse(std::size_t index, const std::string& change) const {
    raise(invalid("piece " + std::to_string(index) + ": its " +
                  (role_ == Role::destination ? "destination" : "source") + " (" + type_words(arrays_[index].object) +
                  ") is not what it was when the batch was made: it " + change + "; make a new batch"));
}

// Hints to the processor, for the memory of thousands of arrays is in no cache.
void Unmoved::prefetch(std::size_t index) const {
    constexpr std::size_t ahead = 12;
    if (index + ahead >= arrays_.size()) return;
    const Array& next = arrays_[index + ahead];
    if (next.fields.tensor != nullptr) return next.fields.prefetch(next.object);
    if (index + 2 * ahead < arrays_.size()) __builtin_prefetch(arrays_[index + 2 * ahead].object);
    if (forms_[next.form].kind == Kind::numpy) __builtin_prefetch(numpy_fields(next.object).shape);
}

void Unmoved::look(std::optional<std::uintptr_t> stream, bool check, CurrentStreams& current,
                   std::vector<std::uintptr_t>& ready) const {
    for (const std::size_t producer : producers_) {
        const auto own = current.of(*forms_[producer].table, {dlpack::cuda, forms_[producer].device.id});
        if (!own) throw nb::python_error();
        add_stream(ready, waiting_stream(stream));
        add_stream(ready, own);
    }
    if (are_locked_ || (!check && !are_asked_)) return;
    bool cupy_asked = false;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const Array& array = arrays_[i];
        const char* change = nullptr;
        prefetch(i);
        switch (forms_[array.form].kind) {
            case Kind::locked: break;
            case Kind::numpy:
                if (check) change = change_of_numpy(array);
                break;
            case Kind::exchanged:
                if (check && !is_still(array)) change = change_of_exchanged(array);
                break;
            case Kind::cupy:
                if (!check && std::exchange(cupy_asked, true)) break;
                [[fallthrough]];
            case Kind::asked:
                if (!check && !forms_[array.form].is_on_device) break;
                try {
                    const Operand now(array.object, role_, stream, Keep::object, current);
                    if (check) change = change_of_asked(array, now);
                    add_stream(ready, now.ready());
                    add_stream(ready, now.awaited());
                } catch (nb::python_error& error) {
                    if (!error.matches(error_class("UsageError"))) throw;
                    refuse(i, "cannot be read any more (" + text_of(error.value()) + ")");
                }
        }
        if (change != nullptr) refuse(i, change);
    }
}

void add_stream(std::vector<std::uintptr_t>& streams, std::optional<std::uintptr_t> stream) {
    if (stream && std::ranges::find(streams, *stream) == streams.end()) streams.push_back(*stream);
}

}  // namespace isthmus::bindings
