// Sessions of the library, by the context that a program copies in.
#include "accelerator/places.hpp"

#include <iterator>
#include <utility>

#include "backend/cuda/cuda_device.hpp"
#include "backend/device.hpp"

namespace isthmus::accelerator {
namespace {

// Of contexts that no session is for, so many are remembered: each costs a few questions when it is seen again.
constexpr std::size_t most_others = 16;

}  // namespace

Result<std::shared_ptr<Session>> Places::current() {
    cuda::Context context = nullptr;
    ISTHMUS_TRY(api_.call(api_.cuCtxGetCurrent, &context));
    if (context == nullptr) return std::shared_ptr<Session>();
    unsigned long long number = 0;
    if (api_.cuCtxGetId && api_.cuCtxGetId(context, &number) != cuda::success) return std::shared_ptr<Session>();
    std::vector<Place> gone;  // ends without the mutex
    const std::lock_guard lock(mutex_);
    for (const Place& place : places_) {
        if (place.context != context || place.number != number) continue;
        if (!place.failure.ok()) return place.failure.copy();
        return place.session;
    }
    Place found = made(context, number);
    // A handle is one context's at a time, and a device has one primary context.
    std::size_t others = 0;
    for (auto place = places_.rbegin(); place != places_.rend();) {
        const bool is_replaced = place->context == context || (found.device >= 0 && place->device == found.device);
        if (is_replaced || (place->device < 0 && ++others >= most_others)) {
            gone.push_back(std::move(*place));
            place = std::make_reverse_iterator(places_.erase(std::next(place).base()));
        } else {
            ++place;
        }
    }
    const Place& place = places_.emplace_back(std::move(found));
    if (!place.failure.ok()) return place.failure.copy();
    return place.session;
}

Places::Place Places::made(cuda::Context context, unsigned long long number) const {
    Place place{context, number, device_of(context), nullptr, {}};
    if (place.device < 0) return place;
    const auto open = [&]() -> Result<std::shared_ptr<Session>> {
        ISTHMUS_TRY_ASSIGN(device, cuda::open_device(place.device, cuda::ContextLife::of_program));
        SessionOptions wanted;
        wanted.pinned_budget_bytes = options_.pinned_budget_bytes;
        wanted.threads = options_.threads;
        return Session::open(device, std::move(wanted));
    };
    auto opened = open();
    if (opened.ok()) {
        place.session = std::move(opened.value());
    } else {
        place.failure = opened.take_status();
    }
    return place;
}

bool Places::has_primary_context(int device) const {
    cuda::Device handle = 0;
    unsigned flags = 0;
    int is_active = 0;
    return api_.call(api_.cuDeviceGet, &handle, device).ok() &&
           api_.call(api_.cuDevicePrimaryCtxGetState, handle, &flags, &is_active).ok() && is_active != 0;
}

int Places::device_of(cuda::Context context) const {
    int devices = 0;
    if (!api_.call(api_.cuDeviceGetCount, &devices).ok()) return -1;
    for (int index = 0; index < devices; ++index) {
        cuda::Device device = 0;
        if (!has_primary_context(index) || !api_.call(api_.cuDeviceGet, &device, index).ok()) continue;
        cuda::Context primary = nullptr;
        if (!api_.call(api_.cuDevicePrimaryCtxRetain, &primary, device).ok()) continue;
        (void)api_.call(api_.cuDevicePrimaryCtxRelease, device);
        if (primary == context) return index;
    }
    return -1;
}

template <typename Condition>
void Places::forget_if(const Condition& condition) {
    std::vector<Place> gone;  // ends without the mutex
    const std::lock_guard lock(mutex_);
    gone.reserve(places_.size());
    std::erase_if(places_, [&](Place& place) {
        if (!condition(std::as_const(place))) return false;
        gone.push_back(std::move(place));
        return true;
    });
}

void Places::forget(const std::shared_ptr<Session>& session) {
    forget_if([&](const Place& place) { return place.session == session; });
}

void Places::forget_lost() {
    forget_if([&](const Place& place) { return place.session != nullptr && !has_primary_context(place.device); });
}

}  // namespace isthmus::accelerator
