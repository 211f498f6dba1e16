// What can be asked for once a process has a context: names of devices, and migrations of managed memory.
#include <dlfcn.h>

#include <array>

#include "tracer/cuda/recorder.hpp"
#include "tracer/thread_state.hpp"

namespace isthmus::tracer {
namespace {

constexpr std::array counters{
    cupti::counter_bytes_transfer_htod, cupti::counter_bytes_transfer_dtoh, cupti::counter_cpu_page_fault_count,
    cupti::counter_gpu_page_fault,      cupti::counter_thrashing,           cupti::counter_throttling,
    cupti::counter_remote_map,
};
// Without what some devices do not count.
constexpr std::size_t essential_counters = 4;

}  // namespace

void Recorder::on_context() {
    ThreadState& thread = ThreadState::of_this_thread(file_);
    const bool busy = std::exchange(thread.busy, true);
    name_devices();
    count_migrations();
    thread.busy = busy;
}

void Recorder::count_migrations() {
    std::array<cupti::UnifiedMemoryCounterConfig, counters.size()> configs{};
    for (std::size_t index = 0; index < counters.size(); ++index) {
        configs[index] = {.scope = cupti::scope_process_all_devices, .kind = counters[index], .device = 0, .enable = 1};
    }
    const auto configure = [&](std::size_t count) {
        return api_.call(api_.cuptiActivityConfigureUnifiedMemoryCounter, configs.data(),
                         static_cast<std::uint32_t>(count));
    };
    Status status = configure(counters.size());
    if (!status.ok()) status = configure(essential_counters);
    if (status.ok()) status = api_.call(api_.cuptiActivityEnable, cupti::activity_kind_unified_memory_counter);
    if (status.ok()) {
        file_.add_flags(trace::recorded_managed);
    } else {
        file_.note("Migrations of managed memory are not recorded: " + status.message());
    }
}

// The driver is in the process already, whoever opened it.
void Recorder::name_devices() {
    int (*count)(int*) = nullptr;
    int (*name)(char*, int, int) = nullptr;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) return;
    count = reinterpret_cast<decltype(count)>(dlsym(driver, "cuDeviceGetCount"));
    name = reinterpret_cast<decltype(name)>(dlsym(driver, "cuDeviceGetName"));
    int devices = 0;
    if (count == nullptr || name == nullptr || count(&devices) != 0) return;
    trace::Writer* writer = ThreadState::of_this_thread(file_).writer;
    for (int device = 0; device < devices; ++device) {
        std::array<char, 256> text{};
        if (name(text.data(), static_cast<int>(text.size() - 1), device) != 0) continue;
        writer->write(
            trace::DeviceRecord{.index = static_cast<std::uint32_t>(device), .name = file_.text(text.data())});
    }
}

}  // namespace isthmus::tracer
