// The functions of the fake CUDA driver that record graphs and run them: a part of fake_cuda.cpp.
#pragma once

int cuStreamBeginCapture_v2(void* handle, int mode) {
    ENTER_CONTEXT();
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr || stream->recorded != nullptr) return invalid_value;
    stream->recorded = new fake::Recorded;
    stream->captured_everywhere = mode == fake::global;
    fake::captures.global_ones += stream->captured_everywhere ? 1 : 0;
    current->legacy_forbidden += stream->is_blocking ? 1 : 0;
    return success;
}
int cuStreamEndCapture(void* handle, void** graph) {
    ENTER_CONTEXT();
    fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr || stream->recorded == nullptr) return invalid_value;
    fake::ledger.add();
    *graph = std::exchange(stream->recorded, nullptr);
    current->legacy_forbidden -= stream->is_blocking ? 1 : 0;
    if (!stream->captured_everywhere) return success;
    --fake::captures.global_ones;
    return std::exchange(fake::captures.broken, false) ? fake::capture_invalidated : success;
}
int cuStreamIsCapturing(void* handle, int* status) {
    ENTER_CONTEXT();
    const fake::Stream* stream = fake::streams.find(handle, current);
    if (stream == nullptr) return invalid_handle;
    if (reinterpret_cast<std::uintptr_t>(handle) <= 1 && current->legacy_forbidden != 0) return fake::capture_implicit;
    return *status = stream->recorded != nullptr, success;
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
