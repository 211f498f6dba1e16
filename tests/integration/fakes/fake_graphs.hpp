// The functions of the fake CUDA driver that record graphs and run them: a part of fake_cuda.cpp.
#pragma once

int cuStreamBeginCapture_v2(void* handle, int mode) {
    ENTER_CONTEXT();
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr || stream->recorded != nullptr) return invalid_value;
    if (fake::is_legacy(handle)) return fake::capture_unsupported;
    stream->recorded = new fake::Recorded;
    fake::captures.begin(*stream, mode);
    return success;
}
int cuStreamEndCapture(void* handle, void** graph) {
    ENTER_CONTEXT();
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr || stream->recorded == nullptr) return invalid_value;
    fake::Recorded* const recorded = std::exchange(stream->recorded, nullptr);
    if (!fake::captures.end(*stream)) {
        delete recorded;
        return *graph = nullptr, fake::capture_invalidated;
    }
    fake::ledger.add();
    return *graph = recorded, success;
}
int cuStreamIsCapturing(void* handle, int* status) {
    ENTER_CONTEXT();
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    if (fake::is_legacy(handle) && fake::captures.would_forbid_legacy(current)) return fake::capture_implicit;
    return *status = stream->recorded == nullptr ? 0 : fake::captures.is_broken(*stream) ? 2 : 1, success;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
    ENTER();
    return std::swap(*mode, fake::capture_mode), success;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    ENTER_CONTEXT();
    fake::ledger.add();
    return *executable = new fake::Recorded(*static_cast<fake::Recorded*>(graph)), success;
}
int cuGraphLaunch(void* executable, void* stream) {
    ENTER_CONTEXT();
    return enqueue_work(stream, [commands = *static_cast<fake::Recorded*>(executable)] {
        for (const auto& command : commands) command();
    });
}
int cuGraphDestroy(void* graph) {
    fake::refuse_forked(__func__);
    const std::lock_guard lock(world);
    fake::ledger.remove();
    return delete static_cast<fake::Recorded*>(graph), success;
}
int cuGraphExecDestroy(void* executable) {
    return cuGraphDestroy(executable);
}
