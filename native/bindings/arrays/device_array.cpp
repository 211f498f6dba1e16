// Arrays in a device's memory that Isthmus made, and how other libraries are handed them.
#include "bindings/arrays/device_array.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <descriptions.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "bindings/arrays/exchange.hpp"
#include "bindings/arrays/operand.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "bindings/module.hpp"
#include "bindings/session.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

// What DLPack's structures point to. The consumer may let go of the memory on any thread, without the interpreter.
// The structure itself is kept by the capsule and by the caller that has yet to call the deleter: there are consumers
// that call it and leave the capsule as it was, and some that drop the capsule first.
template <typename Tensor>
struct Export {
    Tensor managed{};
    std::shared_ptr<const void> memory;
    std::vector<std::int64_t> shape, strides;
    std::atomic<int> references = 2;
    std::atomic<bool> is_deleted = false;

    static void drop(Export* self) {
        if (self->references.fetch_sub(1) == 1) delete self;
    }
    static void end(Tensor* tensor) {
        auto* const self = static_cast<Export*>(tensor->context);
        if (self->is_deleted.exchange(true)) return;
        self->memory.reset();
        drop(self);
    }
    static void drop_capsule(PyObject* capsule) {
        const char* const name = PyCapsule_GetName(capsule);
        auto* const managed = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, name));
        auto* const self = static_cast<Export*>(managed->context);
        // A consumer renames the capsule when it takes the tensor.
        const std::string_view label = name;
        if (label == dlpack::name || label == dlpack::versioned_name) end(managed);
        drop(self);
    }
};

// The memory that is exported: the array's own, or a copy.
struct Exported {
    std::shared_ptr<const void> memory;
    void* data = nullptr;
    std::size_t offset_bytes = 0;
    dlpack::Device device{};
    dlpack::DataType type{};
    std::vector<std::int64_t> shape, strides_bytes;
    bool is_copied = false;
};

template <typename Tensor>
nb::object capsule_of(Exported&& exported, std::size_t item_bytes, const char* name) {
    auto content = std::make_unique<Export<Tensor>>();
    content->memory = std::move(exported.memory);
    content->shape = std::move(exported.shape);
    content->strides = std::move(exported.strides_bytes);
    for (std::int64_t& stride : content->strides) stride /= static_cast<std::int64_t>(item_bytes);
    content->managed.context = content.get();
    content->managed.deleter = &Export<Tensor>::end;
    if constexpr (requires { content->managed.version; }) {
        content->managed.version = {1, is_padded(exported.type) ? 1u : 0u};
        content->managed.flags =
            (exported.is_copied ? dlpack::is_copied : 0) | (is_padded(exported.type) ? dlpack::is_padded : 0);
    }
    content->managed.tensor = {.data = exported.data,
                               .device = exported.device,
                               .dimensions = static_cast<std::int32_t>(content->shape.size()),
                               .type = exported.type,
                               .shape = content->shape.data(),
                               .strides = content->strides.data(),
                               .byte_offset = exported.offset_bytes};
    PyObject* const capsule = PyCapsule_New(&content->managed, name, &Export<Tensor>::drop_capsule);
    if (capsule == nullptr) throw nb::python_error();
    static_cast<void>(content.release());  // the capsule's and the consumer's from here on
    return nb::steal(capsule);
}

dlpack::Device dlpack_device(const DeviceArray& array) {
    const DeviceInfo& info = array.memory->session->device().info();
    if (info.backend == "cuda") return {dlpack::cuda, info.index};
    if (info.backend == "opencl") return {dlpack::opencl, info.index};
    return {dlpack::cpu, 0};  // The host backend's device memory is the host's.
}

// Makes what the consumer's stream is given from now on begin after the copies that are in flight. Without a stream the
// consumer cannot wait, so this does.
void settle(const DeviceArray& array, std::optional<std::uintptr_t> stream) {
    const GilReleased release;
    for (const std::shared_ptr<CopyHandle>& copy : array.memory->pending()) {
        if (copy->done()) continue;
        if (!stream || !copy->hold(*stream).ok()) static_cast<void>(copy->wait());
    }
}

ArrayView view_of(const DeviceArray& array) {
    ArrayView view;
    const bool has_addresses = array.memory->session->device().info().has_addresses;
    view.address = array.memory->allocation->handle() + (has_addresses ? array.offset_bytes : 0);
    view.offset_bytes = has_addresses ? 0 : array.offset_bytes;
    view.element_bytes = array.type.bytes;
    view.shape.assign(array.shape.begin(), array.shape.end());
    view.strides_bytes.assign(array.strides_bytes.begin(), array.strides_bytes.end());
    view.side = Side::device;
    return view;
}

// What a consumer who wants a copy gets: new memory of the host, or of the array's device, in C order.
Exported copied(const DeviceArray& self, bool on_host) {
    Session& session = *self.memory->session;
    ArrayView to = view_of(self);
    to.offset_bytes = 0;
    static_cast<void>(to.lay_in_c_order());  // no larger than the array is
    Exported made;
    made.shape = self.shape;
    made.strides_bytes.assign(to.strides_bytes.begin(), to.strides_bytes.end());
    made.is_copied = true;
    const std::size_t bytes = std::max<std::size_t>(to.bytes(), 1);
    Outcome outcome;
    {
        const GilReleased release;
        if (on_host) {
            to.side = Side::host;
            // Aligned as DLPack has it. NOLINTNEXTLINE(cppcoreguidelines-no-malloc)
            const std::shared_ptr<void> memory(std::aligned_alloc(256, (bytes + 255) / 256 * 256), &std::free);
            made.memory = memory;
            made.data = memory.get();
            if (memory == nullptr) outcome.status = {Code::out_of_memory, "the host has no memory for the copy"};
        } else if (auto memory = DeviceMemory::allocate(self.memory->session, bytes); memory.ok()) {
            made.data = reinterpret_cast<void*>(memory.value()->allocation->handle());
            made.memory = std::move(memory.value());
        } else {
            outcome.status = memory.take_status();
        }
        to.address = reinterpret_cast<std::uintptr_t>(made.data);
        if (outcome.status.ok() && to.bytes() != 0) outcome = session.copy(to, view_of(self), std::nullopt);
    }
    check_copy(outcome, "copy");
    return made;
}

nb::object to_dlpack(const DeviceArray& self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
    const dlpack::Device own = dlpack_device(self);
    const auto refuse = [](const std::string& why) { raise("NotShared", why); };
    const auto number = [](nb::handle pair, int index) {
        return nb::cast<std::int32_t>(nb::int_(nb::object(pair[index])));
    };
    const dlpack::Device device =
        dl_device.is_none() ? own : dlpack::Device{number(dl_device, 0), number(dl_device, 1)};
    const bool is_host = device.type == dlpack::cpu;
    const bool is_elsewhere = device != own;
    if (is_elsewhere && !is_host) {
        refuse(
            "an array of Isthmus is shared on its own device, or copied to the CPU (1, 0); isthmus.copy copies it "
            "to another one by way of the host");
    }
    const bool must_share = !copy.is_none() && !nb::cast<bool>(nb::bool_(nb::borrow(copy)));
    if (is_elsewhere && must_share) {
        refuse(
            "an array on a device is on the CPU only as a copy, which copy=False forbids; isthmus.to_host copies "
            "it");
    }
    const std::optional<dlpack::DataType> type = dlpack_of(self.type);
    const bool versioned = !max_version.is_none() && number(max_version, 0) >= 1;
    const std::string name = self.type.kind == 'V' ? text_of(self.dtype) : self.type.text();
    if (!type) {
        refuse("DLPack has no type for " + name + ": share its bytes, x.view('uint8'), or copy it with isthmus.copy");
    }
    if (is_padded(*type) && !(versioned && (number(max_version, 0) > 1 || number(max_version, 1) >= 1))) {
        refuse("DLPack before 1.1, which the consumer speaks, has " + name +
               " only packed, several to a byte, and here each has a byte: share its bytes, x.view('uint8'), or copy "
               "it with isthmus.copy");
    }
    std::optional<std::uintptr_t> waiting;
    const std::int64_t handle = stream.is_none() ? 0 : nb::cast<std::int64_t>(stream);
    if (own.type == dlpack::cuda && handle >= 0 && !is_elsewhere) waiting = static_cast<std::uintptr_t>(handle);
    if (handle >= 0) settle(self, waiting);  // -1: the consumer does not want anybody to wait
    Exported exported;
    if (is_elsewhere || (!copy.is_none() && !must_share)) {
        exported = copied(self, is_host && is_elsewhere);
    } else {
        exported = {.memory = self.memory,
                    .data = reinterpret_cast<void*>(self.memory->allocation->handle()),
                    .offset_bytes = self.offset_bytes,
                    .shape = self.shape,
                    .strides_bytes = self.strides_bytes};
    }
    exported.device = device;
    exported.type = *type;
    if (versioned) {
        return capsule_of<dlpack::VersionedTensor>(std::move(exported), self.type.bytes, dlpack::versioned_name);
    }
    return capsule_of<dlpack::ManagedTensor>(std::move(exported), self.type.bytes, dlpack::name);
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
    // What NumPy lacks are raw bytes here: the letters that other libraries have for their types mean others to others.
    const bool is_named = self.type.kind == 'X';
    interface["typestr"] = is_named ? nb::object(nb::cast(self.type.typestr())) : self.dtype.attr("str");
    if (!is_named) interface["descr"] = self.dtype.attr("descr");
    interface["data"] = nb::make_tuple(self.memory->allocation->handle() + self.offset_bytes, false);
    interface["version"] = 3;
    interface["stream"] = nb::none();
    return interface;
}

// `name` where NumPy's is but raw bytes.
ElementType type_of_dtype(const nb::object& dtype, const std::string& name) {
    const auto bytes = nb::cast<std::size_t>(dtype.attr("itemsize"));
    if (nb::cast<bool>(dtype.attr("hasobject"))) {
        raise(invalid("Python objects cannot lie on a device; convert them to a number type first"));
    }
    const ElementType named = type_of_name(name.empty() ? text_of(dtype.attr("type").attr("__name__")) : name, bytes);
    if (named.kind == 'X') return named;
    auto type = type_of_typestr(text_of(dtype.attr("str")));
    if (!type.ok()) raise(invalid("the array " + type.take_status().message()));
    return type.value().is_numpy() ? type.value() : named;
}

// `axes` are the dimensions from the outermost to the innermost in memory; none for C order.
void create_in(DeviceArray* self, const std::shared_ptr<Session>& session, std::vector<std::int64_t> shape,
               nb::object dtype, const std::string& name, std::vector<std::size_t> axes) {
    check_not_shut_down();
    ElementType type = type_of_dtype(dtype, name);
    std::size_t bytes = type.bytes;
    std::vector<std::int64_t> strides(shape.size());
    if (axes.empty()) {
        for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(i);
    }
    std::vector<std::size_t> sorted = axes;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (sorted.size() == shape.size() && sorted[i] == i) continue;
        raise(invalid("the axes of an array are each of its dimensions once"));
    }
    for (std::size_t place = axes.size(); place-- > 0;) {
        const std::size_t i = axes[place];
        strides[i] = static_cast<std::int64_t>(bytes);
        if (shape[i] < 0) raise(invalid("an array's shape cannot be negative"));
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(shape[i]), &bytes) || bytes > PTRDIFF_MAX) {
            raise(invalid("the bytes of an array of this shape overflow 63 bits"));
        }
        if (bytes == 0) bytes = type.bytes;  // Empty; its strides are as though it were not.
    }
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    auto memory = [&] {
        const GilReleased release;
        return DeviceMemory::allocate(session, is_empty ? 1 : bytes);
    }();
    if (!memory.ok()) {
        const Outcome failed{memory.take_status()};
        if (failed.status.code() == Code::out_of_memory) check_copy(failed, "allocate");
        raise(failed.status);
    }
    new (self) DeviceArray{std::move(memory.value()), type, std::move(dtype), std::move(shape), std::move(strides), 0};
}

// Sequences are read here: what nanobind reads them by must not fail, and there may be no memory for them.
std::vector<std::size_t> axes_of(nb::handle axes) {
    const std::vector<std::int64_t> numbers = wholes(axes);
    return {numbers.begin(), numbers.end()};
}

void create(DeviceArray* self, const SessionHandle& session, nb::handle shape, nb::object dtype, nb::handle name,
            nb::handle axes) {
    if (session.closed) raise(invalid("the session was closed; open another one"));
    create_in(self, session.session, wholes(shape), std::move(dtype), text_of(name), axes_of(axes));
}

// Next to another array, of the same type.
void create_beside(DeviceArray* self, const DeviceArray& other, nb::handle shape, nb::handle axes) {
    create_in(self, other.memory->session, wholes(shape), other.dtype, std::string(other.type.name), axes_of(axes));
}

// Whether all elements lie within the base's memory. Those of an empty array lie nowhere.
bool is_within(const DeviceArray& base, std::size_t item_bytes, std::int64_t offset_bytes,
               const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    if (std::ranges::find(shape, 0) != shape.end()) return true;
    std::int64_t first = 0;
    std::int64_t end = 0;
    bool overflows = __builtin_add_overflow(static_cast<std::int64_t>(base.offset_bytes), offset_bytes, &first) ||
                     __builtin_add_overflow(first, static_cast<std::int64_t>(item_bytes), &end);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        std::int64_t reach = 0;
        overflows = overflows || __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
        std::int64_t& moved = reach < 0 ? first : end;
        overflows = overflows || __builtin_add_overflow(moved, reach, &moved);
    }
    return !overflows && first >= 0 && end <= static_cast<std::int64_t>(base.memory->allocation->bytes());
}

// A part of an array, or all of it as another type; `offset_bytes` from its first element. Who computes these is NumPy,
// as a rule.
void view(DeviceArray* self, const DeviceArray& base, std::int64_t offset_bytes, nb::handle lengths,
          nb::handle steps_bytes, const nb::object& dtype, nb::handle name) {
    std::vector<std::int64_t> shape = wholes(lengths);
    std::vector<std::int64_t> strides = wholes(steps_bytes);
    const bool same = dtype.is_none();
    const ElementType type = same ? base.type : type_of_dtype(dtype, text_of(name));
    if (shape.size() != strides.size() || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) {
        raise(invalid("a view has a length of 0 or more and a stride for each of its dimensions"));
    }
    if (!is_within(base, type.bytes, offset_bytes, shape, strides)) {
        raise(invalid("the view reaches beyond its array's memory of " +
                      std::to_string(base.memory->allocation->bytes()) +
                      " bytes; index the array to get a part of it"));
    }
    new (self) DeviceArray{base.memory,
                           type,
                           same ? base.dtype : dtype,
                           std::move(shape),
                           std::move(strides),
                           base.offset_bytes + static_cast<std::size_t>(offset_bytes)};
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
    std::vector<std::shared_ptr<CopyHandle>> copies;
    for (const auto& noted : noted_) {
        if (auto copy = noted.lock()) copies.push_back(std::move(copy));
    }
    return copies;
}

DeviceArray* device_array(nb::handle object) {
    DeviceArray* array = nullptr;
    return nb::try_cast<DeviceArray*>(object, array) ? array : nullptr;
}

void bind_device_array(nb::module_& module) {
    module.def(
        "describe",
        [](nb::handle array) {
            CurrentStreams current;
            const Operand operand(array, Role::source, std::nullopt, Keep::object, current);
            nb::list shape;
            for (int i = 0; i < operand.dimensions(); ++i) shape.append(operand.extent(i));
            return std::tuple(shape, operand.type().typestr(), std::string(operand.type().name));
        },
        nb::arg("array").none());
    module.def(
        "named_type_bytes", [](const std::string& name) { return bytes_of_name(name); }, nb::arg("name"));
    nb::class_<DeviceArray>(module, "DeviceArray", described::DeviceArray.text)
        .def("__init__", &create, nb::arg("session"), nb::arg("shape"), nb::arg("dtype"), nb::arg("name") = "",
             nb::arg("axes") = nb::tuple())
        .def("__init__", &create_beside, nb::arg("other"), nb::arg("shape"), nb::arg("axes"))
        .def("__init__", &view, nb::arg("base"), nb::arg("offset_bytes"), nb::arg("shape"), nb::arg("strides"),
             nb::arg("dtype") = nb::none(), nb::arg("name") = "")
        .def_prop_ro(
            "shape", [](const DeviceArray& self) { return nb::tuple(nb::cast(self.shape)); },
            described::DeviceArray_shape.text)
        .def_prop_ro(
            "strides", [](const DeviceArray& self) { return nb::tuple(nb::cast(self.strides_bytes)); },
            described::DeviceArray_strides.text)
        .def_prop_ro(
            "dtype", [](const DeviceArray& self) { return self.dtype; }, described::DeviceArray_dtype.text)
        .def_prop_ro(
            "type_name", [](const DeviceArray& self) { return std::string(self.type.name); },
            described::DeviceArray_type_name.text)
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
