// The driver, and a device's primary context, which every handle of the CUDA backend keeps alive.
#include "backend/cuda/context.hpp"

#include <utility>

#include "kernels/kernels.hpp"
#include "kernels/table.hpp"

namespace isthmus::cuda {
namespace {

Result<Driver> open_driver() {
    ISTHMUS_TRY_ASSIGN(api, Api::open());
    ISTHMUS_TRY(api.call(api.cuInit, 0U));
    auto nvml = nvml::Api::open();
    return Driver{api, nvml.ok() ? std::optional(nvml.value()) : std::nullopt};
}

// Whether this thread was in a primary context when it was last seen to enter or leave one.
thread_local bool was_inside = false;

}  // namespace

Result<const Driver*> Driver::get() {
    static Result<Driver> driver = open_driver();
    if (driver.ok()) return &driver.value();
    static const Status failure = driver.take_status();
    return Status(failure.code(), failure.message());
}

Result<std::shared_ptr<PrimaryContext>> PrimaryContext::retain(const Driver& driver, Device device) {
    const Api& api = driver.api;
    Context context = nullptr;
    ISTHMUS_TRY(api.call(api.cuDevicePrimaryCtxRetain, &context, device));
    std::shared_ptr<PrimaryContext> primary(new PrimaryContext(driver, device, context));
    if (unsigned long long id = 0; api.cuCtxGetId && api.cuCtxGetId(context, &id) == success) primary->id_ = id;
    auto reaches = primary->attribute(attribute_pageable_memory_access);  // Old drivers do not know it.
    primary->reaches_pageable_ = reaches.ok() && reaches.value() != 0;
    auto pitch = primary->attribute(attribute_max_pitch);
    if (pitch.ok() && pitch.value() > 0) primary->most_pitch_bytes_ = static_cast<std::size_t>(pitch.value());
    return primary;
}

PrimaryContext::~PrimaryContext() {
    const Api& cu = api();
    if (const Current current(*this); current.ok()) {
        for (const Pool& pool : pools_) {
            if (pool.stream != nullptr) (void)cu.call(cu.cuStreamDestroy, pool.stream);
            if (pool.pool != nullptr) (void)cu.call(cu.cuMemPoolDestroy, pool.pool);
        }
        if (module_ != nullptr) (void)cu.call(cu.cuModuleUnload, module_);
    }
    // The one that was lost has no references any more: this one would be another's.
    if (!is_lost_) (void)give_reference_back();
}

Status PrimaryContext::give_reference_back() {
    return std::exchange(has_reference_, false) ? api().call(api().cuDevicePrimaryCtxRelease, device_) : Status();
}

// A context that was destroyed has its handle again when the device is used anew, but another id.
Status PrimaryContext::check_alive() const {
    unsigned long long id = 0;
    unsigned flags = 0;
    int is_active = 1;
    const auto& asks = api().cuDevicePrimaryCtxGetState;
    if (id_) {
        const ReturnCode code = api().cuCtxGetId(nullptr, &id);
        if (code != success) return failed(api().cuCtxGetId.name, code);
    } else if (asks) {
        if (const ReturnCode code = asks(device_, &flags, &is_active); code != success) return failed(asks.name, code);
    }
    return is_active != 0 && id == id_.value_or(0) ? Status() : lost();
}

Status PrimaryContext::failed(const char* function, ReturnCode code) const {
    const bool is_gone = code == error_invalid_context || code == error_context_is_destroyed;
    return is_gone ? lost() : api().failure(function, code);
}

Status PrimaryContext::lost() const {
    is_lost_ = true;
    return {Code::call_failed,
            "the device's context was destroyed after it was opened (cudaDeviceReset and cuDevicePrimaryCtxReset do "
            "that), and with it all memory of the device: close this session, and open a new one after the reset"};
}

Status PrimaryContext::make_current() const {
    ISTHMUS_TRY(api().usable());
    if (is_lost_) return lost();
    const auto& set = api().cuCtxSetCurrent;
    if (!set) return set.absent();
    if (const ReturnCode code = set(context_); code != success) return failed(set.name, code);
    return check_alive();
}

// Setting replaces the top of the thread's stack of contexts, and puts one on an empty stack, as setting none takes it
// off: either way the stack is what it was. Most callers' threads are in the primary context already, which costs a
// question only: which context is current, and whether it is the one that it was. Where a thread was in another or none
// before, it is asked first where it is now: tools that watch the driver report each call that fails.
Result<Before> PrimaryContext::enter() const {
    ISTHMUS_TRY(api().usable());
    if (is_lost_) return lost();
    if (unsigned long long id = 0; id_ && was_inside && api().cuCtxGetId(nullptr, &id) == success && id == id_) {
        Door::enter(api());
        return Before{context_};
    }
    Context previous = nullptr;
    ISTHMUS_TRY(api().call(api().cuCtxGetCurrent, &previous));
    was_inside = previous == context_;
    if (Status status = was_inside ? check_alive() : make_current(); !status.ok()) {
        if (!was_inside) (void)api().call(api().cuCtxSetCurrent, previous);
        return status;
    }
    Door::enter(api());
    return Before{previous};
}

void PrimaryContext::leave(Before before) const noexcept {
    Door::leave(api());
    was_inside = before.context == context_;
    if (!was_inside) (void)api().call(api().cuCtxSetCurrent, static_cast<Context>(before.context));
}

Result<int> PrimaryContext::attribute(int attribute) const {
    int value = 0;
    ISTHMUS_TRY(api().call(api().cuDeviceGetAttribute, &value, attribute, device_));
    return value;
}

Result<Kernel> PrimaryContext::kernel(KernelId kernel) {
    ISTHMUS_TRY_ASSIGN(loaded, kernels());
    return loaded->rows[static_cast<std::size_t>(kernel)];
}

Result<Kernel> PrimaryContext::spin() {
    ISTHMUS_TRY_ASSIGN(loaded, kernels());
    return loaded->spin;
}

bool PrimaryContext::has_kernels() {
    const std::lock_guard lock(mutex_);
    return kernels_.has_value();
}

Status PrimaryContext::load_kernels() {
    return kernels().take_status();
}

Result<const PrimaryContext::Kernels*> PrimaryContext::kernels() {
    const std::lock_guard lock(mutex_);
    if (kernels_) return &*kernels_;
    const Api& cu = api();
    if (module_ == nullptr) ISTHMUS_TRY(cu.call(cu.cuModuleLoadData, &module_, static_cast<const void*>(kernels_ptx)));
    Kernels kernels;
    for (const KernelRow& row : kernel_rows) {
        kernels.rows.push_back(nullptr);
        ISTHMUS_TRY(cu.call(cu.cuModuleGetFunction, &kernels.rows.back(), module_, row.name));
    }
    ISTHMUS_TRY(cu.call(cu.cuModuleGetFunction, &kernels.spin, module_, spin_kernel));
    kernels_ = std::move(kernels);
    return &*kernels_;
}

Result<PrimaryContext::Pool> PrimaryContext::pool(bool keeps) {
    const std::lock_guard lock(mutex_);
    Pool& pool = pools_[keeps ? 1 : 0];
    if (pool.stream == nullptr) ISTHMUS_TRY(assign(pool, create_pool(keeps)));
    return pool;
}

Result<PrimaryContext::Pool> PrimaryContext::create_pool(bool keeps) {
    const Api& cu = api();
    MemoryPoolProperties properties{};
    properties.allocation_type = allocation_type_pinned;
    properties.location = {location_type_device, device_};
    Pool pool;
    ISTHMUS_TRY(cu.call(cu.cuMemPoolCreate, &pool.pool, static_cast<const MemoryPoolProperties*>(&properties)));
    std::uint64_t kept_bytes = keeps ? UINT64_MAX : 0;
    Status status =
        cu.call(cu.cuMemPoolSetAttribute, pool.pool, pool_attribute_release_threshold, static_cast<void*>(&kept_bytes));
    if (status.ok()) status = cu.call(cu.cuStreamCreate, &pool.stream, stream_non_blocking);
    if (status.ok()) return pool;
    (void)cu.call(cu.cuMemPoolDestroy, pool.pool);
    return status;
}

Status PrimaryContext::copy_to_peer(PrimaryContext& other, DevicePointer to, DevicePointer from, std::size_t bytes,
                                    Stream stream) {
    connect(other);
    return api().call(api().cuMemcpyPeerAsync, to, other.context_, from, context_, bytes, stream);
}

// Lets each device reach the other's memory, the first time.
void PrimaryContext::connect(PrimaryContext& other) {
    {
        const std::lock_guard lock(mutex_);
        if (!connected_.insert(other.context_).second) return;
    }
    // Either may be the one whose stream copies.
    if (const Current current(*this); current.ok()) reach(other);
    if (const Current current(other); current.ok()) other.reach(*this);
}

std::optional<std::string> PrimaryContext::why_no_reach(const PrimaryContext& other) const {
    int can = 0;
    if (same(other)) return std::nullopt;
    Status asked = api().call(api().cuDeviceCanAccessPeer, &can, device_, other.device_);
    if (!asked.ok()) return asked.message();
    if (can != 0) return std::nullopt;
    return "the driver gives this device no access to the other one's memory (cuDeviceCanAccessPeer says no)";
}

Status PrimaryContext::let_kernels_reach(const PrimaryContext& other) {
    const std::lock_guard lock(mutex_);
    if (reached_.contains(other.context_)) return {};
    if (auto reason = why_no_reach(other)) return unsupported(*reason);
    const auto& enable = api().cuCtxEnablePeerAccess;
    ISTHMUS_TRY(api().usable());
    if (!enable) return enable.absent();
    const ReturnCode code = enable(other.context_, 0U);
    if (code != success && code != error_peer_access_already_enabled) return api().failure(enable.name, code);
    reached_.insert(other.context_);
    return {};
}

// A refusal costs speed at most, since the driver then copies through the host; often another library was first.
// Precondition: this context is current.
void PrimaryContext::reach(const PrimaryContext& other) const {
    int can = 0;
    if (!api().call(api().cuDeviceCanAccessPeer, &can, device_, other.device_).ok() || can == 0) return;
    (void)api().call(api().cuCtxEnablePeerAccess, other.context_, 0U);
}

}  // namespace isthmus::cuda
