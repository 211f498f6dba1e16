// Streams, events and gates of the OpenCL backend.
#include "backend/opencl/stream.hpp"

#include <utility>

#include "kernels/kernels.hpp"

namespace isthmus::opencl {

Result<std::unique_ptr<ClStream>> ClStream::create(std::shared_ptr<SharedContext> context) {
    ISTHMUS_TRY_ASSIGN(queue, context->create_queue());
    std::unique_ptr<ClStream> stream(new ClStream(std::move(context), queue));
    const SharedContext& shared = *stream->context_;
    ReturnCode code = success;
    stream->result_ = shared.api().clCreateBuffer(shared.get(), mem_read_write, sizeof(VerifyResult), nullptr, &code);
    ISTHMUS_TRY(Api::check("clCreateBuffer", code));
    return stream;
}

ClStream::~ClStream() {
    const Api& cl = context_->api();
    (void)cl.call(cl.clFinish, queue_);
    if (result_ != nullptr) (void)cl.call(cl.clReleaseMemObject, result_);
    (void)cl.call(cl.clReleaseCommandQueue, queue_);
}

Status ClStream::synchronize() {
    return context_->api().call(context_->api().clFinish, queue_);
}

void ClEvent::replace(opencl::Event event) {
    if (event_ != nullptr) (void)context_->api().call(context_->api().clReleaseEvent, event_);
    event_ = event;
}

ClGate::~ClGate() {
    (void)open();
    (void)context_->api().call(context_->api().clReleaseEvent, event_);
}

Status ClGate::open() {
    if (std::exchange(opened_, true)) return {};
    return context_->api().call(context_->api().clSetUserEventStatus, event_, complete);
}

}  // namespace isthmus::opencl
