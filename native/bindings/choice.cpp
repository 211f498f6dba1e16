// What every copy chooses before it begins: its session, and the stream that it is ordered by.
#include <nanobind/stl/string.h>

#include <string>

#include "backend/cuda/cuda_device.hpp"
#include "backend/device.hpp"
#include "bindings/arrays/device_array.hpp"
#include "bindings/batch.hpp"
#include "bindings/errors.hpp"
#include "bindings/gil.hpp"
#include "transfer/copy/ends.hpp"

namespace nb = nanobind;

namespace isthmus::bindings {
namespace {

std::string name_of(std::string_view backend, int device) {
    return backend == "host" || device < 0 ? std::string(backend) : std::string(backend) + ":" + std::to_string(device);
}

std::shared_ptr<Session> session_in(nb::handle object) {
    SessionHandle* handle = nullptr;
    if (!nb::try_cast<SessionHandle*>(object, handle)) {
        raise("WrongType", "the session is of type " + text_of(object.type().attr("__name__")) +
                               "; expected None or an isthmus.Session");
    }
    return handle->session;
}

// The import statement would take longer than a small copy, also of what is there.
nb::object sessions_module() {
    static PyObject* const name = PyUnicode_InternFromString("isthmus.transfer.sessions");
    PyObject* const module = PyImport_GetModule(name);
    if (module != nullptr) return nb::steal(module);
    PyErr_Clear();
    return nb::module_::import_("isthmus.transfer.sessions");
}

std::shared_ptr<Session> open_default(const Operand& operand) {
    const nb::object opener = sessions_module().attr("session_of");
    if (operand.backend().empty()) return session_in(or_sleep([&] { return opener("host", 0); }));
    // The interface of CUDA's arrays does not say which device's they are.
    const int index = operand.device() < 0 ? unwrap(cuda::device_of(operand.address())) : operand.device();
    return session_in(or_sleep([&] { return opener(std::string(operand.backend()), index); }));
}

std::shared_ptr<Session> default_session(const Operand& operand, const char* role) {
    try {
        return open_default(operand);
    } catch (nb::python_error& error) {
        if (operand.backend() != "cuda" || !error.matches(error_class("LibraryAbsent"))) throw;
        raise("LibraryAbsent",
              "the " + std::string(role) + " says that it is CUDA memory, but no CUDA driver is here: " +
                  text_of(error.value()) + "; install NVIDIA's driver, or start the container with --gpus all");
    }
}

// Memory of another device than the session's; managed memory is every device's.
bool is_elsewhere(const Operand& operand, const DeviceInfo& info) {
    return operand.side() == Side::device && operand.device() >= 0 && operand.device() != info.index;
}

// Another backend would take its memory for something else, and kernels of another device need not reach it.
void check_device(Session& session, const Operand& operand, const Operand& opposite, const char* role) {
    const DeviceInfo& info = session.device().info();
    if (operand.backend().empty()) return;
    if (operand.backend() == info.backend) {
        if (!is_elsewhere(operand, info)) return;
        // Between two devices of CUDA a session of either copies.
        if (info.backend == "cuda" && opposite.backend() == "cuda" && !is_elsewhere(opposite, info)) return;
    }
    raise(invalid("the " + std::string(role) + " is memory of " + name_of(operand.backend(), operand.device()) +
                  ", the session copies for " + name_of(info.backend, info.index) +
                  "; use a session of that device, or copy by way of the host"));
}

}  // namespace

std::shared_ptr<Session> session_for(nb::handle session, const Operand& destination, const Operand& source) {
    check_not_shut_down();
    // Writing to another device is no slower than reading from it, and may be faster.
    const bool crosses = destination.side() == Side::device && source.side() == Side::device &&
                         destination.backend() == source.backend() && destination.device() != source.device() &&
                         source.device() >= 0;
    std::shared_ptr<Session> chosen;
    if (!session.is_none()) {
        chosen = session_in(session);
    } else if (destination.memory() != nullptr && !crosses) {
        chosen = destination.memory()->session;
    } else if (source.memory() != nullptr) {
        chosen = source.memory()->session;
    }
    // Arrays outlive their session.
    if (chosen == nullptr || (session.is_none() && chosen->is_closed())) {
        const bool by_source = crosses || destination.backend().empty();
        chosen = default_session(by_source ? source : destination, by_source ? "source" : "destination");
    }
    check_device(*chosen, destination, source, "destination");
    check_device(*chosen, source, destination, "source");
    return chosen;
}

std::shared_ptr<Session> session_named(nb::handle session) {
    check_not_shut_down();
    if (!session.is_none()) return session_in(session);
    return session_in(or_sleep([&] { return nb::object(sessions_module().attr("best_session")()); }));
}

Result<std::optional<std::uintptr_t>> joined(Session& session, std::optional<std::uintptr_t> stream,
                                             std::span<const std::uintptr_t> ready) {
    const bool asked = stream.has_value();
    if (!asked && !ready.empty()) stream = ready.front();
    // Both 0 and 1 are the legacy default stream.
    const auto same = [](std::uintptr_t one, std::uintptr_t other) { return one == other || (one <= 1 && other <= 1); };
    for (const std::uintptr_t other : ready) {
        if (same(other, *stream)) continue;
        Device& device = session.device();
        Binding binding(device);
        ISTHMUS_TRY(binding.status());
        ISTHMUS_TRY_ASSIGN(waiting, device.borrow_stream(*stream));
        ISTHMUS_TRY_ASSIGN(producer, device.borrow_stream(other));
        ISTHMUS_TRY_ASSIGN(event, device.create_event());
        ISTHMUS_TRY(device.record(*event, *producer));
        ISTHMUS_TRY(device.wait(*waiting, *event));
    }
    if (!asked && stream && *stream <= 1) stream.reset();
    return stream;
}

nb::dict dict_of(const Explanation& explanation, Session* session) {
    nb::dict dict;
    dict["device"] = session != nullptr ? isthmus::name_of(session->device()) : std::string();
    dict["method"] = explanation.method;
    dict["direction"] = explanation.direction;
    dict["host_memory"] = explanation.host_memory;
    dict["bytes"] = explanation.bytes;
    dict["pieces"] = explanation.pieces;
    dict["width_bytes"] = explanation.width_bytes;
    dict["chunk_bytes"] = explanation.chunk_bytes;
    dict["threads"] = explanation.threads;
    dict["kernel_blocks"] = explanation.kernel_blocks;
    dict["stores"] = std::string(explanation.stores ? name_of(*explanation.stores) : "");
    dict["seconds"] = explanation.seconds;
    dict["why"] = explanation.why;
    nb::dict links;
    for (const auto& [name, share] : explanation.links) links[name.c_str()] = share;
    dict["ways"] = links;
    return dict;
}

}  // namespace isthmus::bindings
