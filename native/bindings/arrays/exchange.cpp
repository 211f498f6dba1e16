// The table of C functions that types of DLPack's producers offer, found once a type.
#include "bindings/arrays/exchange.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "bindings/arrays/operand.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

nb::object class_attribute(nb::handle type, const char* name) {
    const nb::object key = nb::steal(interned(name));
    return attribute(type, key.ptr());
}

// The class that the type has the attribute from; null where it has none.
nb::object owner_of(nb::handle type, const char* name) {
    for (const nb::handle each : nb::borrow<nb::tuple>(type.attr("__mro__"))) {
        if (nb::cast<bool>(each.attr("__dict__").attr("__contains__")(name))) return nb::borrow(each);
    }
    return {};
}

// torch's own classes of tensors, such as parameters, switch the redirection of calls off.
bool redirects_nothing(nb::handle type) {
    const nb::object torch = nb::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), "torch"));
    if (!torch.is_valid()) return false;
    const nb::object core = class_attribute(torch, "_C");
    const nb::object disabled = core.is_valid() ? class_attribute(core, "_disabled_torch_function_impl") : nb::object();
    return disabled.is_valid() && class_attribute(type, "__torch_function__").is(disabled);
}

// Whether an heir of the table's type shares its memory as that one does: what says otherwise by a method is asked by
// its methods.
bool shares_as(nb::handle type, nb::handle owner) {
    if (type.is(owner)) return true;
    for (const char* const name : {"__dlpack__", "__dlpack_device__", "__torch_dispatch__"}) {
        if (!owner_of(type, name).is(owner_of(owner, name))) return false;
    }
    constexpr const char* redirection = "__torch_function__";
    return owner_of(type, redirection).is(owner_of(owner, redirection)) || redirects_nothing(type);
}

const dlpack::ExchangeTable* understood(const dlpack::ExchangeHeader* header) {
    while (header != nullptr && header->version.major > 1) header = header->previous;
    if (header == nullptr || header->version.major != 1) return nullptr;
    return reinterpret_cast<const dlpack::ExchangeTable*>(header);
}

const dlpack::ExchangeTable* look_up(nb::handle type) {
    constexpr const char* name = "__dlpack_c_exchange_api__";
    try {
        const nb::object capsule = class_attribute(type, name);
        if (!capsule.is_valid() || PyCapsule_IsValid(capsule.ptr(), dlpack::exchange_name) == 0) return nullptr;
        const nb::object owner = owner_of(type, name);
        if (!owner.is_valid() || !shares_as(type, owner)) return nullptr;
        return understood(
            static_cast<const dlpack::ExchangeHeader*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::exchange_name)));
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;
        return nullptr;
    }
}

// A type that was looked up. It is not kept alive, and another one may come to lie where it lay.
struct Seen {
    PyObject* type = nullptr;  // null once it is gone
    nb::object reference;      // weak
    const dlpack::ExchangeTable* table = nullptr;
};

// Never freed: the interpreter may have ended by then. Guarded by its lock.
std::array<Seen, 16>& seen() {
    static auto* const types = new std::array<Seen, 16>;
    return *types;
}

// What Python calls with the weak reference when the type goes.
PyObject* forget(PyObject*, PyObject* reference) {
    for (Seen& each : seen()) {
        if (each.reference.ptr() == reference) each.type = nullptr;
    }
    Py_RETURN_NONE;
}

nb::object weak_reference(nb::handle type) {
    static PyMethodDef forgetting{"forget", &forget, METH_O, nullptr};
    const nb::object callback = nb::steal(PyCFunction_New(&forgetting, nullptr));
    nb::object reference = callback.is_valid() ? nb::steal(PyWeakref_NewRef(type.ptr(), callback.ptr())) : nb::object();
    if (!reference.is_valid()) throw nb::python_error();
    return reference;
}

}  // namespace

const dlpack::ExchangeTable* exchange_of(nb::handle object) {
    static std::size_t next = 0;
    const nb::handle type = object.type();
    for (const Seen& each : seen()) {
        if (each.type == type.ptr()) return each.table;
    }
    const dlpack::ExchangeTable* const table = look_up(type);
    nb::object reference = weak_reference(type);
    // Looking it up ran Python, so that others may have been here.
    Seen& place = seen()[next++ % seen().size()];
    const nb::object replaced = std::exchange(place.reference, std::move(reference));
    place.type = type.ptr();
    place.table = table;
    return table;
}

std::optional<std::uintptr_t> CurrentStreams::of(const dlpack::ExchangeTable& table, dlpack::Device device) {
    if (table_ != &table || device_ != device) {
        void* stream = nullptr;
        if (table.current_stream(device.type, device.id, &stream) != 0) return std::nullopt;
        table_ = &table;
        device_ = device;
        stream_ = reinterpret_cast<std::uintptr_t>(stream);
    }
    return stream_;
}

}  // namespace isthmus::bindings
