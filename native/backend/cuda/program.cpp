// What is asked of the driver while a program's own call is under way: about the thread's context and about streams.
#include "backend/cuda/program.hpp"

namespace isthmus::cuda {
namespace {

constexpr std::uintptr_t last_legacy_stream = 1;

Stream stream_of(std::uintptr_t handle) {
    return reinterpret_cast<Stream>(handle);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

Result<Program> Program::open() {
    ISTHMUS_TRY_ASSIGN(api, Api::open());
    return Program(api);
}

Result<std::optional<Program::CurrentContext>> Program::current_context() const {
    const Door door(api_);
    CurrentContext current;
    ISTHMUS_TRY(api_.call(api_.cuCtxGetCurrent, &current.context));
    if (current.context == nullptr) return std::optional<CurrentContext>();
    const auto& ask = api_.cuCtxGetId;
    if (ask && ask(current.context, &current.id) != success) return std::optional<CurrentContext>();
    return std::optional(current);
}

std::optional<int> Program::device_of(Context context) const {
    const Door door(api_);
    int devices = 0;
    if (!api_.call(api_.cuDeviceGetCount, &devices).ok()) return std::nullopt;
    for (int index = 0; index < devices; ++index) {
        if (primary_context(index) == reinterpret_cast<std::uintptr_t>(context)) return index;
    }
    return std::nullopt;
}

std::optional<std::uintptr_t> Program::primary_context(int index) const {
    const Door door(api_);
    Device device = 0;
    if (!has_primary_context(index) || !api_.call(api_.cuDeviceGet, &device, index).ok()) return std::nullopt;
    Context primary = nullptr;
    if (!api_.call(api_.cuDevicePrimaryCtxRetain, &primary, device).ok()) return std::nullopt;
    (void)api_.call(api_.cuDevicePrimaryCtxRelease, device);
    return reinterpret_cast<std::uintptr_t>(primary);
}

bool Program::has_primary_context(int index) const {
    const Door door(api_);
    Device device = 0;
    unsigned flags = 0;
    int is_active = 0;
    return api_.call(api_.cuDeviceGet, &device, index).ok() &&
           api_.call(api_.cuDevicePrimaryCtxGetState, device, &flags, &is_active).ok() && is_active != 0;
}

int Program::most_pitch_bytes(int index) const {
    const Door door(api_);
    Device device = 0;
    int most = 0;
    if (!api_.call(api_.cuDeviceGet, &device, index).ok()) return 0;
    return api_.call(api_.cuDeviceGetAttribute, &most, attribute_max_pitch, device).ok() ? most : 0;
}

bool Program::knows(std::uintptr_t address) const {
    const Door door(api_);
    unsigned type = 0;
    int attribute = pointer_attribute_memory_type;
    void* value = &type;
    return !api_.call(api_.cuPointerGetAttributes, 1U, &attribute, &value, DevicePointer{address}).ok() || type != 0;
}

std::optional<std::uintptr_t> Program::context_of(std::uintptr_t stream) const {
    const Door door(api_);
    Context owner = nullptr;
    if (!api_.call(api_.cuStreamGetCtx, stream_of(stream), &owner).ok()) return std::nullopt;
    return reinterpret_cast<std::uintptr_t>(owner);
}

Status Program::copy(bool to_device, std::uintptr_t to, std::uintptr_t from, std::size_t bytes,
                     std::uintptr_t stream) const {
    const Door door(api_);
    // NOLINTBEGIN(performance-no-int-to-ptr)
    if (to_device) {
        return api_.call(api_.cuMemcpyHtoDAsync, DevicePointer{to}, reinterpret_cast<const void*>(from), bytes,
                         stream_of(stream));
    }
    return api_.call(api_.cuMemcpyDtoHAsync, reinterpret_cast<void*>(to), DevicePointer{from}, bytes,
                     stream_of(stream));
    // NOLINTEND(performance-no-int-to-ptr)
}

bool Program::is_captured(Stream stream) const {
    int state = stream_capture_status_none;
    const auto& ask = api_.cuStreamIsCapturing;
    // For the legacy stream it fails while a stream that waits for that is captured.
    return ask && (ask(stream, &state) != success || state != stream_capture_status_none);
}

bool Program::is_idle(Stream stream) const {
    return api_.cuStreamQuery && api_.cuStreamQuery(stream) == success;
}

bool Program::follows_legacy(Stream stream) const {
    unsigned flags = 0;
    const auto& ask = api_.cuStreamGetFlags;
    return !ask || ask(stream, &flags) != success || (flags & stream_non_blocking) == 0;
}

Program::StreamState Program::state_of(std::uintptr_t handle) const {
    const Door door(api_);
    Stream stream = stream_of(handle);
    if (!api_.usable().ok()) return StreamState::busy;
    if (is_captured(stream)) return StreamState::captured;
    if (!is_idle(stream)) return StreamState::busy;
    if (handle <= last_legacy_stream || !follows_legacy(stream)) return StreamState::idle;
    Stream legacy = nullptr;
    return !is_captured(legacy) && is_idle(legacy) ? StreamState::idle : StreamState::busy;
}

bool Program::is_context_idle() const {
    const Door door(api_);
    Context context = nullptr;
    Event event = nullptr;
    if (!api_.cuCtxRecordEvent) return true;
    if (!api_.call(api_.cuCtxGetCurrent, &context).ok()) return false;
    if (!api_.call(api_.cuEventCreate, &event, event_disable_timing).ok()) return false;
    const bool is_idle = api_.cuCtxRecordEvent(context, event) == success && api_.cuEventQuery(event) == success;
    (void)api_.call(api_.cuEventDestroy, event);
    return is_idle;
}

// An event comes behind exactly what a copy would, streams that the legacy stream waits for among it, and nothing that
// other threads put there later.
Status Program::wait_behind(std::uintptr_t handle) const {
    const Door door(api_);
    Event event = nullptr;
    ISTHMUS_TRY(api_.call(api_.cuEventCreate, &event, event_disable_timing));
    Status status = api_.call(api_.cuEventRecord, event, stream_of(handle));
    if (status.ok()) status = api_.call(api_.cuEventSynchronize, event);
    (void)api_.call(api_.cuEventDestroy, event);
    return status;
}

Status Program::read(std::byte* to, std::uintptr_t from, std::size_t bytes) const {
    const Door door(api_);
    return api_.call(api_.cuMemcpyDtoH, static_cast<void*>(to), DevicePointer{from}, bytes);
}

}  // namespace isthmus::cuda
