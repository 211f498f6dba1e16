// Streams, events, gates and rendezvous of the OpenCL backend.
#include "backend/opencl/stream.hpp"

#include <algorithm>
#include <utility>

#include "backend/opencl/memory.hpp"
#include "backend/opencl/query.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::opencl {

Result<std::unique_ptr<ClStream>> ClStream::create(std::shared_ptr<SharedContext> context) {
    ISTHMUS_TRY_ASSIGN(queue, context->create_queue());
    return std::unique_ptr<ClStream>(new ClStream(std::move(context), queue, Owner::this_object));
}

Result<std::unique_ptr<ClStream>> ClStream::borrow(std::shared_ptr<SharedContext> context, std::uintptr_t handle) {
    if (handle == 0) return invalid("OpenCL has no default queue: pass a cl_command_queue");
    const Api& cl = context->api();
    auto* const queue = reinterpret_cast<Queue>(handle);  // NOLINT(performance-no-int-to-ptr)
    ISTHMUS_TRY(context->check_object(queue, "cl_command_queue"));
    ISTHMUS_TRY_ASSIGN(owner, property_of<Context>(cl, cl.clGetCommandQueueInfo, queue, queue_context));
    if (owner != context->get()) {
        return invalid(
            "the queue belongs to another context than the one that Isthmus has opened for this device: make "
            "it in that one");
    }
    ISTHMUS_TRY_ASSIGN(properties, property_of<Flags>(cl, cl.clGetCommandQueueInfo, queue, queue_properties));
    if ((properties & queue_out_of_order_exec_mode_enable) != 0) {
        return invalid("the queue runs its commands in any order: pass one that keeps the order");
    }
    ISTHMUS_TRY(cl.call(cl.clRetainCommandQueue, queue));
    return std::unique_ptr<ClStream>(new ClStream(std::move(context), queue, Owner::caller));
}

ClStream::~ClStream() {
    const Api& cl = context_->api();
    if (owner_ == Owner::this_object || result_ != nullptr) (void)cl.call(cl.clFinish, queue_);
    result_.reset();
    (void)cl.call(cl.clReleaseCommandQueue, queue_);
}

Result<Region> ClStream::result() {
    if (result_ == nullptr) {
        ISTHMUS_TRY_ASSIGN(memory, reserve(context_, MemoryKind::device, sizeof(VerifyResult), nullptr));
        ISTHMUS_TRY(memory->acquire());
        result_ = std::move(memory);
    }
    return Region{result_.get(), 0, sizeof(VerifyResult)};
}

Status ClStream::synchronize() {
    return context_->api().call(context_->api().clFinish, queue_);
}

void ClEvent::replace(opencl::Event event) {
    if (event_ != nullptr) (void)context_->api().call(context_->api().clReleaseEvent, event_);
    event_ = event;
}

Result<std::unique_ptr<Barrier>> Barrier::create(std::shared_ptr<SharedContext> context) {
    ISTHMUS_TRY_ASSIGN(event, context->api().make(context->api().clCreateUserEvent, context->get()));
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

Status ClRendezvous::wait_for_host(Stream& stream, std::uint32_t count) {
    const std::lock_guard lock(mutex_);
    if (opened_ >= count) return {};
    ISTHMUS_TRY_ASSIGN(barrier, Barrier::create(context_));
    ISTHMUS_TRY(barrier->close(static_cast<ClStream&>(stream).get()));
    awaited_.emplace_back(count, std::move(barrier));
    return {};
}

Status ClRendezvous::tell_host(Stream& stream, std::uint32_t count) {
    const Api& cl = context_->api();
    const Queue queue = static_cast<ClStream&>(stream).get();
    Event marker = nullptr;
    ISTHMUS_TRY(cl.call(cl.clEnqueueMarkerWithWaitList, queue, 0U, static_cast<const Event*>(nullptr), &marker));
    auto told = std::make_unique<ClEvent>(context_);
    told->replace(marker);
    const std::lock_guard lock(mutex_);
    told_.emplace_back(count, std::move(told));
    return cl.call(cl.clFlush, queue);
}

void ClRendezvous::open(std::uint32_t count) noexcept {
    if (!usable().ok()) return;  // the caller that had the mutex is not here either
    // Opened without the mutex: the driver may run what waited on this thread.
    std::deque<std::pair<std::uint32_t, std::unique_ptr<Barrier>>> passed;
    const std::lock_guard lock(mutex_);
    opened_ = std::max(opened_, count);
    while (!awaited_.empty() && awaited_.front().first <= count) {
        passed.push_back(std::move(awaited_.front()));
        awaited_.pop_front();
    }
}

std::uint32_t ClRendezvous::reached() noexcept {
    const Api& cl = context_->api();
    if (!usable().ok()) return 0;
    const std::lock_guard lock(mutex_);
    while (!told_.empty()) {
        std::int32_t state = 0;
        const Status status = cl.call(cl.clGetEventInfo, told_.front().second->get(), event_command_execution_status,
                                      sizeof state, static_cast<void*>(&state), static_cast<std::size_t*>(nullptr));
        if (!status.ok() || state != complete) break;
        reached_ = told_.front().first;
        told_.pop_front();
    }
    return reached_;
}

Status enqueue_barrier(const Api& api, Queue queue, Event event) {
    return api.call(api.clEnqueueBarrierWithWaitList, queue, 1U, static_cast<const Event*>(&event),
                    static_cast<Event*>(nullptr));
}

}  // namespace isthmus::opencl
