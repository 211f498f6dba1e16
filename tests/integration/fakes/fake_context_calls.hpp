// The functions of the fake CUDA driver about contexts: a part of fake_cuda.cpp.
#pragma once

int cuDevicePrimaryCtxRetain(void** context, int device) {
    ENTER();
    return *context = fake::retain(device), success;
}
// What it has stays until the process ends or the program resets the device, as what others retain it for does.
int cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER();
    if (fake::primary(device).references == 0) fake::violation(__func__, "more often than the context was retained");
    return --fake::primary(device).references, success;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
    ENTER();
    return *flags = 0, *active = fake::primary(device).is_alive, success;
}
int cuDevicePrimaryCtxReset_v2(int device) {
    ENTER();
    fake::Context& context = fake::primary(device);
    fake::captures.forget(&context);
    fake::streams.forget(&context);
    fake::memory.forget(&context);
    return context.is_alive = false, context.references = 0, success;
}
// As CUDA 7.0 had them, which NVIDIA's runtimes still look up.
int cuDevicePrimaryCtxRelease(int device) {
    return cuDevicePrimaryCtxRelease_v2(device);
}
int cuDevicePrimaryCtxReset(int device) {
    return cuDevicePrimaryCtxReset_v2(device);
}
int cuCtxCreate_v2(void** context, unsigned, int device) {
    ENTER();
    return *context = current = fake::create_context(device), success;
}
int cuCtxDestroy_v2(void* context) {
    ENTER();
    auto& gone = *static_cast<fake::Context*>(context);
    if (!gone.is_alive || gone.is_primary) return invalid_context;
    fake::captures.forget(&gone);
    fake::streams.forget(&gone);
    fake::memory.forget(&gone);
    if (current == &gone) current = nullptr;
    return gone.is_alive = false, success;
}
int cuCtxGetId(void* context, unsigned long long* id) {
    ENTER();
    const auto* asked = context != nullptr ? static_cast<fake::Context*>(context) : current;
    if (asked == nullptr) return invalid_context;
    return *id = asked->id, asked->is_alive ? success : fake::context_is_destroyed;
}
int cuCtxRecordEvent(void* context, void* event) {
    ENTER();
    if (fake::captures.forbid_all(context)) return fake::capture_unsupported;
    auto moment = std::make_shared<fake::Moment>();
    moment->passed = false;
    auto& recorded = *static_cast<fake::Event*>(event);
    recorded.moment = moment;
    recorded.captured_by = nullptr;
    fake::streams.pass_behind(context, moment);
    return success;
}
int cuCtxSetCurrent(void* context) {
    ENTER();
    return current = static_cast<fake::Context*>(context), success;
}
int cuCtxGetCurrent(void** context) {
    ENTER();
    return *context = current, success;
}
