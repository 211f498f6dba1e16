// Arrays in a device's memory that Isthmus made, and how other libraries are handed them.
#include "bindings/arrays/device_array.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <descriptions.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/session.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// What DLPack's structures point to; the consumer may let go of it on any thread, without the interpreter.
template <typename Tensor>
struct Export {
    Tensor managed{};
    std::shared_ptr<DeviceMemory> memory;
    std::vector<std::int64_t> shape, strides;
};

template <typename Tensor>
nb::object capsule_of(const DeviceArray& array, dlpack::Device device, const char* name) {
    auto content = std::make_unique<Export<Tensor>>();
    content->memory = array.memory;
    content->shape = array.shape;
    content->strides = array.strides_bytes;
    for (std::int64_t& stride : content->strides) stride /= static_cast<std::int64_t>(array.type.bytes);
    content->managed.context = content.get();
    content->managed.deleter = [](Tensor* self) { delete static_cast<Export<Tensor>*>(self->context); };
    if constexpr (requires { content->managed.version; }) content->managed.version = {1, 0};
    content->managed.tensor = {.data = reinterpret_cast<void*>(array.memory->allocation->handle()),
                               .device = device,
                               .dimensions = static_cast<std::int32_t>(content->shape.size()),
                               .type = dlpack_of(array.type),
                               .shape = content->shape.data(),
                               .strides = content->strides.data(),
                               .byte_offset = array.offset_bytes};
    // Whoever takes the tensor renames the capsule.
    const auto drop = [](PyObject* capsule) {
        for (const char* const own : {dlpack::name, dlpack::versioned_name}) {
            if (PyCapsule_IsValid(capsule, own) == 0) continue;
            auto* const managed = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, own));
            managed->deleter(managed);
        }
    };
    PyObject* const capsule = PyCapsule_New(&content->managed, name, drop);
    if (capsule == nullptr) throw nb::python_error();
    static_cast<void>(content.release());  // the capsule's from here on
    return nb::steal(capsule);
}

dlpack::Device dlpack_device(const DeviceArray& array) {
    const DeviceInfo& info = array.memory->session->device().info();
    if (info.backend == "cuda") return {dlpack::cuda, info.index};
    if (info.backend == "opencl") return {dlpack::opencl, info.index};
    return {dlpack::cpu, 0};  // The host backend's device memory is the host's.
}

// Makes what the consumer's stream is given from now on begin after the copies that are under way. Without a stream the
// consumer cannot wait, so this does.
void settle(const DeviceArray& array, std::optional<std::uintptr_t> stream) {
    const GilReleased release;
    for (const std::shared_ptr<CopyHandle>& copy : array.memory->pending()) {
        if (copy->done()) continue;
        if (!stream || !copy->hold(*stream).ok()) static_cast<void>(copy->wait());
    }
}

nb::object to_dlpack(const DeviceArray& self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
    const dlpack::Device device = dlpack_device(self);
    const auto refuse = [](const char* why) {
        PyErr_SetString(PyExc_BufferError, why);
        throw nb::python_error();
    };
    if (nb::isinstance<nb::bool_>(copy) && nb::cast<bool>(copy)) {
        refuse("an array of Isthmus is shared, not copied, by DLPack; copy it with isthmus.copy or isthmus.to_host");
    }
    if (!dl_device.is_none() && (nb::cast<std::int32_t>(nb::int_(nb::object(dl_device[0]))) != device.type ||
                                 nb::cast<std::int32_t>(nb::int_(nb::object(dl_device[1]))) != device.id)) {
        refuse("an array of Isthmus stays on its device when it is shared by DLPack; isthmus.to_host copies it");
    }
    std::optional<std::uintptr_t> waiting;
    const std::int64_t handle = stream.is_none() ? 0 : nb::cast<std::int64_t>(stream);
    if (device.type == dlpack::cuda && handle >= 0) waiting = static_cast<std::uintptr_t>(handle);
    if (handle >= 0) settle(self, waiting);  // -1: the consumer does not want anybody to wait
    const bool versioned = !max_version.is_none() && nb::cast<int>(nb::int_(nb::object(max_version[0]))) >= 1;
    if (versioned) return capsule_of<dlpack::VersionedTensor>(self, device, dlpack::versioned_name);
    return capsule_of<dlpack::ManagedTensor>(self, device, dlpack::name);
}

nb::dict cuda_interface(const DeviceArray& self) {
    if (dlpack_device(self).type != dlpack::cuda) {
        PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__ is for CUDA's memory alone");
        throw nb::python_error();
    }
    settle(self, std::nullopt);
    nb::dict interface;
    interface["shape"] = nb::tuple(nb::cast(self.shape));
    interface["strides"] = nb::tuple(nb::cast(self.strides_bytes));
    interface["typestr"] = self.dtype.attr("str");
    interface["descr"] = self.dtype.attr("descr");
    interface["data"] = nb::make_tuple(self.memory->allocation->handle() + self.offset_bytes, false);
    interface["version"] = 3;
    interface["stream"] = nb::none();
    return interface;
}

ElementType type_of_dtype(const nb::object& dtype) {
    const auto bytes = nb::cast<std::size_t>(dtype.attr("itemsize"));
    if (nb::cast<bool>(dtype.attr("hasobject"))) {
        raise({Code::invalid_argument, "Python objects cannot lie on a device; convert them to a number type first"});
    }
    const ElementType named = type_of_name(nb::cast<std::string>(dtype.attr("name")), bytes);
    return named.kind == 'X' ? named : type_of_typestr(nb::cast<std::string>(dtype.attr("str")));
}

void create(DeviceArray* self, const SessionHandle& session, std::vector<std::int64_t> shape, nb::object dtype) {
    check_not_shut_down();
    if (session.closed) raise({Code::invalid_argument, "the session was closed; open another one"});
    ElementType type = type_of_dtype(dtype);
    std::size_t bytes = type.bytes;
    std::vector<std::int64_t> strides(shape.size());
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = static_cast<std::int64_t>(bytes);
        if (shape[i] < 0) raise({Code::invalid_argument, "an array's shape cannot be negative"});
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(shape[i]), &bytes) || bytes > PTRDIFF_MAX) {
            raise({Code::invalid_argument, "the bytes of an array of this shape overflow 63 bits"});
        }
        if (bytes == 0) bytes = type.bytes;  // Empty; its strides are as though it were not.
    }
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    auto memory = [&] {
        const GilReleased release;
        return DeviceMemory::allocate(session.session, is_empty ? 1 : bytes);
    }();
    if (!memory.ok()) {
        const Outcome failed{memory.take_status()};
        if (failed.status.code() == Code::out_of_memory) check_copy(failed, "allocate");
        raise(failed.status);
    }
    new (self) DeviceArray{std::move(memory.value()), type, std::move(dtype), std::move(shape), std::move(strides), 0};
}

// Whether all elements lie within the base's memory. Those of an empty array lie nowhere.
bool is_within(const DeviceArray& base, std::int64_t offset_bytes, const std::vector<std::int64_t>& shape,
               const std::vector<std::int64_t>& strides) {
    if (std::ranges::find(shape, 0) != shape.end()) return true;
    std::int64_t first = 0;
    std::int64_t end = 0;
    bool overflows = __builtin_add_overflow(static_cast<std::int64_t>(base.offset_bytes), offset_bytes, &first) ||
                     __builtin_add_overflow(first, static_cast<std::int64_t>(base.type.bytes), &end);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        std::int64_t reach = 0;
        overflows = overflows || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
        std::int64_t& moved = reach < 0 ? first : end;
        overflows = overflows || __builtin_add_overflow(moved, reach, &moved);
    }
    return !overflows && first >= 0 && end <= static_cast<std::int64_t>(base.memory->allocation->bytes());
}

// A part of an array; `offset_bytes` from its first element. Who computes these is NumPy, as a rule.
void view(DeviceArray* self, const DeviceArray& base, std::int64_t offset_bytes, std::vector<std::int64_t> shape,
          std::vector<std::int64_t> strides) {
    if (shape.size() != strides.size() || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) {
        raise({Code::invalid_argument, "a view has a length of 0 or more and a stride for each of its dimensions"});
    }
    if (!is_within(base, offset_bytes, shape, strides)) {
        raise({Code::invalid_argument, "the view reaches beyond its array's memory of " +
                                           std::to_string(base.memory->allocation->bytes()) +
                                           " bytes; index the array to get a part of it"});
    }
    new (self)
        DeviceArray{base.memory,      base.type,          base.dtype,
                    std::move(shape), std::move(strides), base.offset_bytes + static_cast<std::size_t>(offset_bytes)};
}

}  // namespace

Result<std::shared_ptr<DeviceMemory>> DeviceMemory::allocate(std::shared_ptr<Session> session, std::size_t bytes) {
    Binding binding(session->device());
    ISTHMUS_TRY(binding.status());
    auto memory = std::make_shared<DeviceMemory>();
    ISTHMUS_TRY_ASSIGN(allocation, session->device().allocate(MemoryKind::device, bytes));
    memory->session = std::move(session);
    memory->allocation = std::move(allocation);
    return memory;
}

DeviceMemory::~DeviceMemory() {
    if (!session) return;
    const Binding binding(session->device());
    allocation.reset();
}

void DeviceMemory::note(const std::shared_ptr<CopyHandle>& copy) {
    const std::lock_guard lock(mutex_);
    std::erase_if(noted_, [](const auto& noted) { return noted.expired(); });
    noted_.push_back(copy);
}

std::vector<std::shared_ptr<CopyHandle>> DeviceMemory::pending() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<CopyHandle>> found;
    for (const auto& noted : noted_) {
        if (auto copy = noted.lock()) found.push_back(std::move(copy));
    }
    return found;
}

DeviceArray* device_array(nb::handle object) {
    DeviceArray* found = nullptr;
    return nb::try_cast<DeviceArray*>(object, found) ? found : nullptr;
}

void bind_device_array(nb::module_& module) {
    module.def(
        "describe",
        [](nb::handle array) {
            const Operand operand(array, Role::source, std::nullopt);
            nb::list shape;
            for (int i = 0; i < operand.dimensions(); ++i) shape.append(operand.extent(i));
            return std::tuple(shape, operand.type().typestr(), std::string(operand.type().name));
        },
        nb::arg("array").none());
    nb::class_<DeviceArray>(module, "DeviceArray", described::DeviceArray.text)
        .def("__init__", &create, nb::arg("session"), nb::arg("shape"), nb::arg("dtype"))
        .def("__init__", &view, nb::arg("base"), nb::arg("offset_bytes"), nb::arg("shape"), nb::arg("strides"))
        .def_prop_ro(
            "shape", [](const DeviceArray& self) { return nb::tuple(nb::cast(self.shape)); },
            described::DeviceArray_shape.text)
        .def_prop_ro(
            "strides", [](const DeviceArray& self) { return nb::tuple(nb::cast(self.strides_bytes)); },
            described::DeviceArray_strides.text)
        .def_prop_ro(
            "dtype", [](const DeviceArray& self) { return self.dtype; }, described::DeviceArray_dtype.text)
        .def_prop_ro(
            "device",
            [](const DeviceArray& self) {
                const DeviceInfo& info = self.memory->session->device().info();
                return info.backend == "host" ? info.backend : info.backend + ":" + std::to_string(info.index);
            },
            described::DeviceArray_device.text)
        .def_prop_ro("__cuda_array_interface__", &cuda_interface, described::DeviceArray_cuda_array_interface.text)
        .def("__dlpack_device__",
             [](const DeviceArray& self) {
                 const dlpack::Device device = dlpack_device(self);
                 return std::pair(device.type, device.id);
             })
        .def("__dlpack__", &to_dlpack, ISTHMUS_DESCRIBED(DeviceArray_dlpack), nb::kw_only(),
             nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
             nb::arg("copy") = nb::none());
}

}  // namespace isthmus::bindings
