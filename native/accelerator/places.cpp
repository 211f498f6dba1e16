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
    ISTHMUS_TRY_ASSIGN(current, program_.current_context());
    if (!current) return std::shared_ptr<Session>();
    const auto [context, number] = *current;
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
    Place place{context, number, program_.device_of(context).value_or(-1), nullptr, {}};
    if (place.device < 0) return place;
    const auto open = [&]() -> Result<std::shared_ptr<Session>> {
        ISTHMUS_TRY_ASSIGN(device, cuda::open_device(place.device, cuda::ContextLife::of_program));
        SessionOptions wanted;
        wanted.pinned_budget_bytes = options_.pinned_budget_bytes;
        wanted.threads = options_.threads;
        wanted.follows_default_stream = false;
        wanted.checks_memory = true;
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
    forget_if(
        [&](const Place& place) { return place.session != nullptr && !program_.has_primary_context(place.device); });
}

}  // namespace isthmus::accelerator
