// Sessions of the library, by the context that a program copies in.
#include "accelerator/places.hpp"

#include <utility>

#include "backend/cuda/cuda_device.hpp"
#include "backend/device.hpp"
#include "base/fork.hpp"

namespace isthmus::accelerator {

Result<std::shared_ptr<Session>> Places::current() {
    cuda::Context context = nullptr;
    ISTHMUS_TRY(api_.call(api_.cuCtxGetCurrent, &context));
    if (context == nullptr) return std::shared_ptr<Session>();
    unsigned long long number = 0;
    if (api_.cuCtxGetId && api_.cuCtxGetId(context, &number) != cuda::success) return std::shared_ptr<Session>();
    const std::lock_guard lock(mutex_);
    for (const Place& place : places_) {
        if (place.context != context || place.number != number) continue;
        if (!place.failure.ok()) return place.failure.copy();
        return place.session;
    }
    // What a context left whose handle is used anew is not looked for any more.
    const Place& place = places_.emplace_back(made(context, number));
    if (!place.failure.ok()) return place.failure.copy();
    return place.session;
}

Places::Place Places::made(cuda::Context context, unsigned long long number) const {
    Place place{context, number, nullptr, {}};
    const std::optional<int> index = device_of(context);
    if (!index) return place;
    const auto open = [&]() -> Result<std::shared_ptr<Session>> {
        ISTHMUS_TRY_ASSIGN(device, cuda::open_device(*index));
        // The program's context lives as long as the program has it: sessions notice when it is gone.
        cuda::Device handle = 0;
        ISTHMUS_TRY(api_.call(api_.cuDeviceGet, &handle, *index));
        SessionOptions wanted;
        wanted.pinned_budget_bytes = options_.pinned_budget_bytes;
        wanted.threads = options_.threads;
        ISTHMUS_TRY_ASSIGN(session, Session::open(device, std::move(wanted)));
        ISTHMUS_TRY(api_.call(api_.cuDevicePrimaryCtxRelease, handle));
        return std::move(session);
    };
    auto opened = open();
    if (opened.ok()) {
        place.session = std::move(opened.value());
    } else {
        place.failure = opened.take_status();
    }
    return place;
}

std::optional<int> Places::device_of(cuda::Context context) const {
    int devices = 0;
    if (!api_.call(api_.cuDeviceGetCount, &devices).ok()) return std::nullopt;
    for (int index = 0; index < devices; ++index) {
        cuda::Device device = 0;
        unsigned flags = 0;
        int is_active = 0;
        if (!api_.call(api_.cuDeviceGet, &device, index).ok()) continue;
        if (!api_.call(api_.cuDevicePrimaryCtxGetState, device, &flags, &is_active).ok() || is_active == 0) continue;
        cuda::Context primary = nullptr;
        if (!api_.call(api_.cuDevicePrimaryCtxRetain, &primary, device).ok()) continue;
        (void)api_.call(api_.cuDevicePrimaryCtxRelease, device);
        if (primary == context) return index;
    }
    return std::nullopt;
}

void Places::forget(const std::shared_ptr<Session>& session) {
    const std::lock_guard lock(mutex_);
    for (Place& place : places_) {
        if (place.session != session) continue;
        // Its end would give back what is not there any more, in a context that may be another's by now.
        keep_for_good(std::move(place.session));
        place = {};
    }
}

}  // namespace isthmus::accelerator
