// Sessions of the C interface: opened, asked about, closed.
#include <charconv>
#include <optional>
#include <string>

#include "backend/cuda/cuda_device.hpp"
#include "backend/device_info.hpp"
#include "backend/host/host_device.hpp"
#include "backend/opencl/opencl_device.hpp"
#include "capi/arguments.hpp"
#include "capi/ending.hpp"
#include "capi/handles.hpp"

namespace isthmus::capi {
namespace {

// All of `text` as a number; an empty one is the first device.
std::optional<int> index_of(std::string_view text) {
    int index = 0;
    if (text.empty()) return index;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, index);
    if (error != std::errc() || stopped != end || index < 0) return std::nullopt;
    return index;
}

// "cuda", "cuda:1", "opencl:0", "host", or "host:rate=25GB/s" for a host that pretends. Fails with invalid_argument for
// a name that makes no sense, and with what the backend says where there is no such device.
Result<std::shared_ptr<Device>> open_device(std::string_view name) {
    const std::size_t colon = name.find(':');
    const std::string_view backend = name.substr(0, colon);
    const std::string_view rest = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
    if (backend == "host") {
        ISTHMUS_TRY_ASSIGN(model, host::Model::parse(std::string(rest)));
        return host::open_device(std::move(model));
    }
    const std::string quoted = "'" + std::string(name) + "'";
    if (backend != "cuda" && backend != "opencl") {
        return invalid("no device is called " + quoted + "; expected cuda:0, opencl:0, host, or null for the best one");
    }
    const std::optional<int> index = index_of(rest);
    if (!index) {
        return invalid("no device is called " + quoted + "; after " + std::string(backend) +
                       ": a number is expected, such as " + std::string(backend) + ":0");
    }
    if (backend == "cuda") return cuda::open_device(*index);
    return opencl::open_device(*index, {});
}

// The first CUDA device, else an OpenCL device with memory of its own, else any OpenCL device, else the host: what the
// `isthmus` command takes, too.
Result<std::shared_ptr<Device>> open_best_device() {
    if (!cuda::list_devices().devices.empty()) return cuda::open_device(0);
    const BackendListing listing = opencl::list_devices({});
    if (listing.devices.empty()) return host::open_device({});
    const DeviceInfo* best = &listing.devices.front();
    for (const DeviceInfo& info : listing.devices) {
        if (best->shares_host_memory && !info.shares_host_memory) best = &info;
    }
    return opencl::open_device(best->index, {});
}

Result<std::unique_ptr<isthmus_session>> open_session(const char* device_name, const isthmus_options* options) {
    ISTHMUS_TRY_ASSIGN(chosen, options_of(options));
    ISTHMUS_TRY_ASSIGN(device, device_name == nullptr ? open_best_device() : open_device(device_name));
    ISTHMUS_TRY_ASSIGN(session, Session::open(device, std::move(chosen)));
    auto handle = std::make_unique<isthmus_session>();
    handle->session = std::move(session);
    if (device->info().has_addresses) handle->default_stream = 0;
    return handle;
}

// Memory goes after the copies that use it, and before the device.
Status close_session(isthmus_session* session) {
    std::unique_ptr<isthmus_session> owner(session);
    if (owner->generation != fork_generation()) {
        // What the parent's threads and the driver held at that moment, they hold here for ever.
        static_cast<void>(owner.release());
        return {Code::call_failed, "this session was opened before fork(), so that it is the parent's to close"};
    }
    Status closed = owner->session->close();
    const Binding binding(owner->session->device());
    owner->memory.clear();
    owner->pinned.clear();
    return closed;
}

}  // namespace
}  // namespace isthmus::capi

using namespace isthmus;
using namespace isthmus::capi;

isthmus_code isthmus_open(const char* device, const isthmus_options* options, isthmus_session** session,
                          isthmus_status* status) noexcept {
    return guarded(status, "open", [&]() -> Status {
        if (session == nullptr) return null_argument("session");
        *session = nullptr;
        ISTHMUS_TRY_ASSIGN(opened, open_session(device, options));
        *session = opened.release();
        return {};
    });
}

isthmus_code isthmus_close(isthmus_session* session, isthmus_status* status) noexcept {
    return guarded(status, "close", [&] { return session == nullptr ? Status() : close_session(session); });
}

void* isthmus_context(const isthmus_session* session) noexcept {
    return session == nullptr ? nullptr : reinterpret_cast<void*>(session->session->device().context_handle());
}

size_t isthmus_pinned_bytes(const isthmus_session* session) noexcept {
    return session == nullptr ? 0 : session->session->pinned_bytes();
}

size_t isthmus_pinned_budget_bytes(const isthmus_session* session) noexcept {
    return session == nullptr ? 0 : session->session->pinned_budget_bytes();
}

isthmus_code isthmus_trim(isthmus_session* session, isthmus_status* status) noexcept {
    return guarded(status, "trim",
                   [&] { return session == nullptr ? null_argument("session") : session->session->trim(); });
}

isthmus_code isthmus_explain(isthmus_session* session, const isthmus_array* destination, const isthmus_array* source,
                             isthmus_explanation* explanation, isthmus_status* status) noexcept {
    return guarded(status, "explain", [&]() -> Status {
        if (session == nullptr) return null_argument("session");
        if (explanation == nullptr) return null_argument("explanation");
        ISTHMUS_TRY_ASSIGN(to, view_of(destination, "destination"));
        ISTHMUS_TRY_ASSIGN(from, view_of(source, "source"));
        ISTHMUS_TRY_ASSIGN(explained, session->session->explain(to, from));
        return write_explanation(explained, explanation);
    });
}

isthmus_code isthmus_explain_batch(isthmus_session* session, size_t pieces, void* const* destinations,
                                   const void* const* sources, const size_t* bytes, isthmus_direction direction,
                                   isthmus_explanation* explanation, isthmus_status* status) noexcept {
    return guarded(status, "explain_batch", [&]() -> Status {
        if (session == nullptr) return null_argument("session");
        if (explanation == nullptr) return null_argument("explanation");
        ISTHMUS_TRY_ASSIGN(batch, batch_of(pieces, destinations, sources, bytes));
        ISTHMUS_TRY_ASSIGN(sides, sides_of(direction));
        ISTHMUS_TRY_ASSIGN(explained, session->session->explain_batch(batch, sides));
        return write_explanation(explained, explanation);
    });
}
