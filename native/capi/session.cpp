// Sessions of the C interface: opened, asked about, closed.
#include "backend/device_info.hpp"
#include "capi/arguments.hpp"
#include "capi/devices.hpp"
#include "capi/ending.hpp"
#include "capi/handles.hpp"

namespace isthmus::capi {
namespace {

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
