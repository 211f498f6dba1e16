// Streams, events, gates and latches of the OpenCL backend.
#include "backend/opencl/stream.hpp"

#include <utility>

#include "backend/opencl/query.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::opencl {

Result<std::unique_ptr<ClStream>> ClStream::create(std::shared_ptr<SharedContext> context) {
    ISTHMUS_TRY_ASSIGN(queue, context->create_queue());
    return std::unique_ptr<ClStream>(new ClStream(std::move(context), queue, Owner::this_object));
}

Result<std::unique_ptr<ClStream>> ClStream::borrow(std::shared_ptr<SharedContext> context, std::uintptr_t handle) {
    if (handle == 0) return Status(Code::invalid_argument, "OpenCL has no default queue: pass a cl_command_queue");
    const Api& cl = context->api();
    auto* const queue = reinterpret_cast<Queue>(handle);  // NOLINT(performance-no-int-to-ptr)
    ISTHMUS_TRY_ASSIGN(owner, property_of<Context>(cl, cl.clGetCommandQueueInfo, queue, queue_context));
    if (owner != context->get()) {
        return Status(Code::invalid_argument,
                      "the queue belongs to another context than the one that Isthmus has opened for this device: make "
                      "it in that one");
    }
    ISTHMUS_TRY_ASSIGN(properties, property_of<Flags>(cl, cl.clGetCommandQueueInfo, queue, queue_properties));
    if ((properties & queue_out_of_order_exec_mode_enable) != 0) {
        return Status(Code::invalid_argument,
                      "the queue runs its commands in any order: pass one that keeps the order");
    }
    ISTHMUS_TRY(cl.call(cl.clRetainCommandQueue, queue));
    return std::unique_ptr<ClStream>(new ClStream(std::move(context), queue, Owner::caller));
}

ClStream::~ClStream() {
    const Api& cl = context_->api();
    if (owner_ == Owner::this_object || result_ != nullptr) (void)cl.call(cl.clFinish, queue_);
    if (result_ != nullptr) (void)cl.call(cl.clReleaseMemObject, result_);
    (void)cl.call(cl.clReleaseCommandQueue, queue_);
}

Result<Buffer> ClStream::result() {
    if (result_ == nullptr) {
        ReturnCode code = success;
        const SharedContext& shared = *context_;
        result_ = shared.api().clCreateBuffer(shared.get(), mem_read_write, sizeof(VerifyResult), nullptr, &code);
        ISTHMUS_TRY(Api::check("clCreateBuffer", code));
    }
    return result_;
}

Status ClStream::synchronize() {
    return context_->api().call(context_->api().clFinish, queue_);
}

void ClEvent::replace(opencl::Event event) {
    if (event_ != nullptr) (void)context_->api().call(context_->api().clReleaseEvent, event_);
    event_ = event;
}

Result<std::unique_ptr<Barrier>> Barrier::create(std::shared_ptr<SharedContext> context) {
    ReturnCode code = success;
    Event event = context->api().clCreateUserEvent(context->get(), &code);
    ISTHMUS_TRY(Api::check("clCreateUserEvent", code));
    return std::unique_ptr<Barrier>(new Barrier(std::move(context), event));
}

Barrier::~Barrier() {
    (void)open();
    (void)context_->api().call(context_->api().clReleaseEvent, event_);
}

Status Barrier::close(Queue queue) const {
    return enqueue_barrier(context_->api(), queue, event_);
}

Status Barrier::open() {
    if (opened_.exchange(true)) return {};
    return context_->api().call(context_->api().clSetUserEventStatus, event_, complete);
}

Status enqueue_barrier(const Api& api, Queue queue, Event event) {
    return api.call(api.clEnqueueBarrierWithWaitList, queue, 1U, static_cast<const Event*>(&event),
                    static_cast<Event*>(nullptr));
}

}  // namespace isthmus::opencl
