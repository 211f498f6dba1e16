// What a program holds of OpenCL, as its calls got and gave it back.
#include "accelerator/opencl/holdings.hpp"

#include <algorithm>
#include <utility>

#include "accelerator/opencl/functions.hpp"
#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "backend/opencl/opencl_device.hpp"
#include "transfer/table/table_file.hpp"

namespace isthmus::accelerator {
namespace {

// Of OpenCL nothing is built in, but what crosses the link is the same; where it is not, the samples will tell.
TransferTable table_of(const DeviceInfo& device) {
    TransferTable table = table_for(device);
    return table.built_in ? TransferTable::defaults("cuda", device.name) : table;
}

Result<std::shared_ptr<Session>> opened(opencl::Context context, opencl::Device device, const Options& options) {
    ISTHMUS_TRY_ASSIGN(found, opencl::open_device_in(programs_opencl(), context, device));
    SessionOptions wanted;
    wanted.pinned_budget_bytes = options.pinned_budget_bytes;
    wanted.threads = options.threads;
    wanted.checks_memory = true;
    wanted.table = table_of(found->info());
    return Session::open(found, std::move(wanted));
}

}  // namespace

ClHoldings& ClHoldings::of_process() {
    static ClHoldings& one = *new ClHoldings;
    return one;
}

void ClHoldings::hold(opencl::Context context) {
    if (!is_here()) return;
    const std::lock_guard lock(mutex_);
    ++contexts_[context].times;
}

void ClHoldings::let_go(opencl::Context context) {
    if (!is_here()) return;
    Held last;  // ends without the mutex
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end() || --found->second.times != 0) return;
    last = std::move(found->second);
    contexts_.erase(found);
}

Result<std::shared_ptr<Session>> ClHoldings::session(opencl::Context context, opencl::Device device,
                                                     const Options& options) {
    if (!is_here()) return std::shared_ptr<Session>();
    const std::lock_guard lock(mutex_);
    const auto held = contexts_.find(context);
    if (held == contexts_.end()) return std::shared_ptr<Session>();
    auto place = held->second.places.find(device);
    if (place == held->second.places.end()) {
        place = held->second.places.try_emplace(device).first;
        auto made = opened(context, device, options);
        if (made.ok()) {
            place->second.session = std::move(made.value());
        } else {
            place->second.failure = made.take_status();
        }
    }
    if (!place->second.failure.ok()) return place->second.failure.copy();
    return place->second.session;
}

void ClHoldings::add(const void* memory, std::size_t bytes) {
    if (!is_here()) return;
    const std::lock_guard lock(mutex_);
    try {
        memory_.emplace(reinterpret_cast<std::uintptr_t>(memory), bytes);
    } catch (...) {  // without memory
        lacks_some_ = true;
    }
}

void ClHoldings::remove(const void* memory) {
    if (!is_here()) return;
    const std::lock_guard lock(mutex_);
    const auto found = memory_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found != memory_.end()) memory_.erase(found);
}

bool ClHoldings::touches(std::uintptr_t begin, std::size_t bytes) const {
    if (!is_here()) return false;
    const std::lock_guard lock(mutex_);
    return lacks_some_ || std::any_of(memory_.begin(), memory_.lower_bound(begin + bytes),
                                      [begin](const auto& block) { return block.first + block.second > begin; });
}

}  // namespace isthmus::accelerator
