// New memory for results in Python: arrays of NumPy and tensors, whose memory the pool of results has back when they
// are gone. It is C alone that gives it back, so no Python runs and no lock of the interpreter is taken.
#include <nanobind/stl/optional.h>
#include <descriptions.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "base/memory/result_pool.hpp"
#include "bindings/arrays/dlpack.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// Arrays begin as far behind a page as large ones of malloc: jax.device_put takes the memory of aligned ones without a
// copy, and a program that writes to its array afterwards would change JAX's.
constexpr std::size_t before_array = 16;

std::byte* block_of(void* array) {
    return static_cast<std::byte*>(array) - before_array;
}

void* allocate(void*, std::size_t bytes) {
    if (!ResultPool::get().keeps(bytes)) return std::malloc(bytes);
    void* const block = ResultPool::get().take(bytes + before_array);
    return block == nullptr ? nullptr : static_cast<std::byte*>(block) + before_array;
}

void* allocate_zeros(void*, std::size_t count, std::size_t bytes) {
    return std::calloc(count, bytes);
}

void release(void*, void* address, std::size_t) {
    if (address == nullptr || !ResultPool::get().give_back(block_of(address))) std::free(address);
}

void* reallocate(void* context, void* address, std::size_t bytes) {
    const std::size_t old = address == nullptr ? 0 : ResultPool::get().bytes_of(block_of(address));
    if (old == 0) return std::realloc(address, bytes);
    void* const moved = allocate(context, std::max<std::size_t>(bytes, 1));
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, address, std::min(old - before_array, bytes));
    ResultPool::get().give_back(block_of(address));
    return moved;
}

// How NumPy gets an array's memory: https://numpy.org/doc/stable/reference/c-api/data_memory.html
struct MemoryHandler {
    std::array<char, 127> name;
    std::uint8_t version;
    void* context;
    void* (*allocate)(void*, std::size_t);
    void* (*allocate_zeros)(void*, std::size_t, std::size_t);
    void* (*reallocate)(void*, void*, std::size_t);
    void (*release)(void*, void*, std::size_t);
};

using SetHandler = PyObject* (*)(PyObject*);

// From NumPy's table of functions for C, which is the same from 1.22 on.
SetHandler set_handler() {
    static const SetHandler function = [] {
        constexpr std::size_t place = 304;  // PyDataMem_SetHandler
        nb::object module;
        try {
            module = nb::module_::import_("numpy._core._multiarray_umath");
        } catch (const nb::python_error& error) {
            if (!error.matches(PyExc_ImportError)) throw;
            module = nb::module_::import_("numpy.core._multiarray_umath");  // before 2.0
        }
        const nb::object table = module.attr("_ARRAY_API");
        auto* const functions = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
        if (functions == nullptr) throw nb::python_error();
        return reinterpret_cast<SetHandler>(functions[place]);
    }();
    return function;
}

// While it lives, new arrays of this thread's context are in the pool, however long they live.
class InPool {
  public:
    InPool() {
        static MemoryHandler handler{{"isthmus_results"}, 1,           nullptr, &allocate,
                                     &allocate_zeros,     &reallocate, &release};
        static PyObject* const capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
        if (capsule == nullptr) throw nb::python_error();
        previous_ = set_handler()(capsule);
        if (previous_ == nullptr) throw nb::python_error();
    }
    ~InPool() {
        const nb::error_scope kept;  // what the array could not be made for
        PyObject* const ours = set_handler()(previous_);
        if (ours == nullptr) PyErr_Clear();
        Py_XDECREF(ours);
        Py_DECREF(previous_);
    }
    InPool(const InPool&) = delete;
    InPool& operator=(const InPool&) = delete;

  private:
    PyObject* previous_;
};

nb::object in_result_memory(nb::handle make, nb::handle shape, nb::handle type) {
    const InPool here;
    // Within: no thread that the interpreter ends may unwind past the handler.
    return or_sleep([&] { return make(shape, type); });
}

// Bytes in the pool for any library that takes DLPack.
struct Bytes {
    dlpack::ManagedTensor managed{};
    std::int64_t count = 0;
    void* memory = nullptr;

    explicit Bytes(std::size_t bytes) : count(static_cast<std::int64_t>(bytes)), memory(ResultPool::get().take(bytes)) {
        if (memory == nullptr) throw std::bad_alloc();
        managed.tensor = {memory, {dlpack::cpu, 0}, 1, {dlpack::uint_code, 8, 1}, &count, nullptr, 0};
        managed.context = this;
        managed.deleter = [](dlpack::ManagedTensor* self) { delete static_cast<Bytes*>(self->context); };
    }
    ~Bytes() { ResultPool::get().give_back(memory); }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
};

nb::object result_bytes(std::size_t bytes) {
    if (!ResultPool::get().keeps(bytes)) return nb::none();
    auto made = std::make_unique<Bytes>(bytes);
    PyObject* const capsule = PyCapsule_New(&made->managed, dlpack::name, [](PyObject* unused) {
        if (PyCapsule_IsValid(unused, dlpack::name) == 0) return;  // a library has it
        auto* const managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(unused, dlpack::name));
        managed->deleter(managed);
    });
    if (capsule == nullptr) throw nb::python_error();
    static_cast<void>(made.release());  // NOLINT(bugprone-unused-return-value) - the capsule's from now on
    return nb::steal(capsule);
}

nb::tuple result_memory(std::optional<std::size_t> budget, bool trim) {
    ResultPool& pool = ResultPool::get();
    if (budget || trim) {
        const GilReleased release;
        if (budget) pool.set_budget(*budget);
        if (trim) pool.trim();
    }
    const ResultPool::Sizes sizes = pool.sizes();
    return nb::make_tuple(sizes.unused_bytes, sizes.budget_bytes);
}

}  // namespace

void bind_results(nb::module_& module) {
    module.def("in_result_memory", &in_result_memory, ISTHMUS_DESCRIBED(in_result_memory), nb::arg("make"),
               nb::arg("shape"), nb::arg("dtype"));
    module.def("result_bytes", &result_bytes, ISTHMUS_DESCRIBED(result_bytes), nb::arg("bytes"));
    module.def("result_memory", &result_memory, ISTHMUS_DESCRIBED(result_memory), nb::arg("budget") = nb::none(),
               nb::arg("trim") = false);
}

}  // namespace isthmus::bindings
