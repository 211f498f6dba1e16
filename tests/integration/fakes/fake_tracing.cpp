// A CUPTI that tells of copies and kernels which a program pretends to make: for the tracer, under whose feet it
// stands.
//
// fake_copy is such a copy: a call of the runtime within which the driver is called; fake_fetch is one to the host that
// is not waited for. What devices did is delivered by fake_deliver and by every flush. FAKE_SUBSCRIBE is what
// cuptiSubscribe returns. fake_launch launches a kernel, which the device tells of while that is enabled;
// fake_launches_told says of how many calls was told, and fake_windows how often kernels were enabled. Within the copy
// of fake_copy_that a function of the program runs, which may leave it. As the real one, a flush waits for calls that
// have not ended, which is for good where the program has left one; with FAKE_FLUSH_HANGS it never returns.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "driver/cupti_api.hpp"
#include "driver/cupti_records.hpp"

using namespace isthmus;

namespace {

cupti::Callback callback = nullptr;
cupti::BufferRequested requested = nullptr;
cupti::BufferCompleted completed = nullptr;
cupti::Timestamp timestamp = nullptr;
std::atomic<std::uint32_t> correlations{0};
std::atomic<bool> timing{false};
// Whether each function, of the driver and of the runtime, is listened to.
std::atomic<bool> listened[4][4096];
std::atomic<std::uint32_t> launches_told{0};
constexpr std::uint32_t runtime_copy = 31, driver_copy = 276, runtime_launch = 211, driver_launch = 307;
constexpr std::uint32_t runtime_graph = 311, driver_graph = 514, driver_instantiate = 513, driver_update = 515,
                        driver_change = 516;
// Copies of the fake driver's, numbered from driver_copy on.
constexpr std::array driver_copies{"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyHtoDAsync_v2",
                                   "cuMemcpyDtoHAsync_v2"};

std::atomic<int> under_way{0};
std::mutex mutex;
// Records one behind the other.
std::vector<std::uint8_t> done;
std::atomic<bool> kernels_told{false}, graphs_told{false};
std::atomic<std::uint32_t> windows{0};

void deliver_locked() {
    if (done.empty()) return;
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0;
    requested(&buffer, &bytes, &most);
    // Without memory for them they are lost, as CUPTI has it.
    if (buffer == nullptr) return done.clear();
    std::memcpy(buffer, done.data(), done.size());
    completed(nullptr, 0, buffer, bytes, done.size());
    done.clear();
}

void deliver_all() {
    const std::lock_guard lock(mutex);
    deliver_locked();
}

template <typename Record>
void add(const Record& record) {
    const std::lock_guard lock(mutex);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(&record);
    done.insert(done.end(), begin, begin + sizeof record);
    // A buffer that is full is handed over by the thread that filled it.
    if (done.size() > std::size_t{1} << 20) deliver_locked();
}

struct Parameters {
    std::uint64_t destination, source, bytes;
    int kind;
    std::uint64_t stream = 0;
};

struct Functions {
    const char *of_runtime, *of_driver;
    int kind;
    std::uint8_t kind_of_activity, source, destination;
};
constexpr Functions to_device{"cudaMemcpy_v3020",       "cuMemcpyHtoD_v2", 1, cupti::memcpy_kind_htod, 1,
                              cupti::memory_kind_device};
constexpr Functions to_host{"cudaMemcpyAsync_v3020", "cuMemcpyDtoHAsync_v2",    2,
                            cupti::memcpy_kind_dtoh, cupti::memory_kind_device, 1};

void tell(int domain, std::uint32_t number, const char* function, const void* parameters, std::uint32_t correlation,
          bool begins) {
    under_way += begins ? 1 : -1;
    if (!listened[domain][number]) return;
    if (number == runtime_launch || number == driver_launch) ++launches_told;
    int result = 0;
    std::uint64_t user = 0;
    const cupti::CallbackData data{.site = begins ? cupti::api_enter : cupti::api_enter + 1,
                                   .function = function,
                                   .parameters = parameters,
                                   .returned = &result,
                                   .symbol = nullptr,
                                   .context = nullptr,
                                   .context_number = 1,
                                   .user_data = &user,
                                   .correlation = correlation};
    callback(nullptr, domain, number, &data);
}

void call(int domain, std::uint32_t number, const char* function, const void* parameters, std::uint32_t correlation,
          const auto& work) {
    tell(domain, number, function, parameters, correlation, true);
    work();
    tell(domain, number, function, parameters, correlation, false);
}

void make_copy(const Functions& functions, std::uint64_t source, std::uint64_t destination, std::uint64_t bytes,
               void (*within)() = nullptr) {
    const std::uint32_t correlation = ++correlations;
    const Parameters parameters{destination, source, bytes, functions.kind};
    call(cupti::domain_runtime_api, runtime_copy, functions.of_runtime, &parameters, correlation, [&] {
        call(cupti::domain_driver_api, driver_copy, functions.of_driver, &parameters, correlation, [&] {
            if (within != nullptr) within();
            if (!timing) return;
            const std::uint64_t start = timestamp();
            add(cupti::CopyActivity{.kind = cupti::activity_kind_memcpy,
                                    .copy_kind = functions.kind_of_activity,
                                    .source_kind = functions.source,
                                    .destination_kind = functions.destination,
                                    .flags = 0,
                                    .bytes = bytes,
                                    .start = start,
                                    .end = start + 1000,
                                    .device = 0,
                                    .context = 1,
                                    .stream = 7,
                                    .correlation = correlation});
        });
    });
}

}  // namespace

extern "C" {

// Whether anybody listens.
bool fake_listened() {
    return callback != nullptr;
}
void fake_context() {
    callback(nullptr, cupti::domain_resource, cupti::resource_context_created, nullptr);
}
void fake_copy(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes) {
    make_copy(to_device, source, destination, bytes);
}
void fake_copy_that(void (*within)()) {
    make_copy(to_device, 0x3000'0000, 0x7000'0000'0000, 64, within);
}
void fake_fetch(std::uint64_t source, std::uint64_t destination, std::uint64_t bytes) {
    make_copy(to_host, source, destination, bytes);
}
void fake_launch() {
    const std::uint32_t correlation = ++correlations;
    call(cupti::domain_runtime_api, runtime_launch, "cudaLaunchKernel_v7000", nullptr, correlation, [&] {
        call(cupti::domain_driver_api, driver_launch, "cuLaunchKernel", nullptr, correlation, [&] {
            if (!kernels_told) return;
            const std::uint64_t start = timestamp();
            cupti::KernelActivity kernel{};
            kernel.kind = cupti::activity_kind_concurrent_kernel;
            kernel.start = start;
            kernel.end = start + 500;
            kernel.stream = 7;
            kernel.correlation = correlation;
            kernel.name = "_Z4workv";
            add(kernel);
        });
    });
}
// Instantiates a graph of the driver, launches it so many times, then once as graph 2, and once with a copy changed; no
// device reports what it does.
void fake_graph(std::uint64_t graph, int launches) {
    static std::uint64_t handle = 0;
    const std::uint64_t made[2]{reinterpret_cast<std::uint64_t>(&handle), graph}, launched[2]{77, 0};
    call(cupti::domain_driver_api, driver_instantiate, "cuGraphInstantiateWithFlags", made, ++correlations,
         [] { handle = 77; });
    // Devices name it after the outermost call.
    const auto run = [] {
        if (!graphs_told) return;
        const std::uint64_t start = timestamp();
        add(cupti::GraphActivity{.kind = cupti::activity_kind_graph_trace,
                                 .correlation = correlations - 1,
                                 .start = start,
                                 .end = start + 200,
                                 .device = 0,
                                 .graph = 1,
                                 .context = 1,
                                 .stream = 7});
    };
    const auto launch = [&] {
        call(cupti::domain_runtime_api, runtime_graph, "cudaGraphLaunch_v10000", nullptr, ++correlations,
             [&] { call(cupti::domain_driver_api, driver_graph, "cuGraphLaunch", launched, ++correlations, run); });
    };
    for (int number = 0; number < launches; ++number) launch();
    const std::uint64_t updated[2]{77, 2};
    call(cupti::domain_driver_api, driver_update, "cuGraphExecUpdate_v2", updated, ++correlations, [] {});
    launch();
    call(cupti::domain_driver_api, driver_change, "cuGraphExecMemcpyNodeSetParams", updated, ++correlations, [] {});
    launch();
}
std::uint32_t fake_windows() {
    return windows;
}
std::uint32_t fake_launches_told() {
    return launches_told;
}
// By the fake driver.
void fake_tell(const char* function, const void* parameters, bool begins) {
    const auto* const found = std::find(driver_copies.begin(), driver_copies.end(), std::string_view(function));
    const auto number = driver_copy + static_cast<std::uint32_t>(found - driver_copies.begin());
    static thread_local std::uint32_t correlation = 0;
    if (begins) correlation = ++correlations;
    tell(cupti::domain_driver_api, number, function, parameters, correlation, begins);
}
void fake_deliver() {
    deliver_all();
}

int cuptiGetVersion(std::uint32_t* version) {
    return *version = 130000, 0;
}
int cuptiGetResultString(int, const char** text) {
    return *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", 0;
}
int cuptiSubscribe(void**, cupti::Callback given, void*) {
    if (const char* code = std::getenv("FAKE_SUBSCRIBE")) return std::atoi(code);
    // Programs that run out of memory are to fail by themselves.
    done.reserve(sizeof(cupti::CopyActivity) * 1024);
    return callback = given, 0;
}
int cuptiEnableDomain(std::uint32_t, void*, int) {
    return 0;
}
int cuptiEnableCallback(std::uint32_t on, void*, int domain, std::uint32_t number) {
    if (domain != cupti::domain_resource) listened[domain][number] = on != 0;
    return 0;
}
int cuptiActivityRegisterCallbacks(cupti::BufferRequested request, cupti::BufferCompleted complete) {
    return requested = request, completed = complete, 0;
}
// With FAKE_CUPTI_CLOCK it has a clock of its own, which counts from 1970, and takes no other.
int cuptiGetTimestamp(std::uint64_t* now) {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    *now = static_cast<std::uint64_t>(std::chrono::nanoseconds(since).count());
    return 0;
}
int cuptiActivityRegisterTimestampCallback(cupti::Timestamp given) {
    const bool own = std::getenv("FAKE_CUPTI_CLOCK") != nullptr;
    timestamp = own ? +[] {
        std::uint64_t now = 0;
        cuptiGetTimestamp(&now);
        return now;
    } : given;
    return own ? 1 : 0;
}
int cuptiActivityConfigureUnifiedMemoryCounter(cupti::UnifiedMemoryCounterConfig*, std::uint32_t) {
    return 0;
}
// With FAKE_OLD_CUPTI it does not know of whole graphs, with FAKE_SILENT_GRAPHS it reports none.
int cuptiActivityEnable(int kind) {
    if (kind == cupti::activity_kind_graph_trace && std::getenv("FAKE_OLD_CUPTI") != nullptr) return 1;
    if (kind == cupti::activity_kind_graph_trace) graphs_told = std::getenv("FAKE_SILENT_GRAPHS") == nullptr;
    if (kind == cupti::activity_kind_memcpy) timing = true;
    if (kind == cupti::activity_kind_concurrent_kernel) kernels_told = true, ++windows;
    return 0;
}
int cuptiActivityDisable(int kind) {
    if (kind == cupti::activity_kind_memcpy) timing = false;
    if (kind == cupti::activity_kind_concurrent_kernel) kernels_told = false;
    return 0;
}
int cuptiGetCallbackName(int domain, std::uint32_t number, const char** name) {
    const bool runtime = domain == cupti::domain_runtime_api;
    *name = "cuCtxGetCurrent";
    if (number == runtime_copy && runtime) *name = "cudaMemcpy_v3020";
    if (number >= driver_copy && number < driver_copy + driver_copies.size() && !runtime) {
        *name = driver_copies[number - driver_copy];
    }
    if (number == runtime_graph && runtime) *name = "cudaGraphLaunch_v10000";
    if (number == driver_graph && !runtime) *name = "cuGraphLaunch";
    if (number == driver_update && !runtime) *name = "cuGraphExecUpdate_v2";
    if (number == driver_change && !runtime) *name = "cuGraphExecMemcpyNodeSetParams";
    if (number == driver_instantiate && !runtime) *name = "cuGraphInstantiateWithFlags";
    if (number == runtime_launch && runtime) *name = "cudaLaunchKernel_v7000";
    if (number == driver_launch && !runtime) *name = "cuLaunchKernel";
    return 0;
}
int cuptiGetDeviceId(void*, std::uint32_t* device) {
    return *device = 0, 0;
}
int cuptiGetStreamIdEx(void*, void*, std::uint8_t, std::uint32_t* stream) {
    return *stream = 7, 0;
}
int cuptiActivityFlushPeriod(std::uint32_t) {
    return 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
    while (under_way > 0 || std::getenv("FAKE_FLUSH_HANGS") != nullptr)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return deliver_all(), 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, cupti::Activity** record) {
    const int kind = *record == nullptr ? 0 : (*record)->kind;
    const std::size_t size = kind == cupti::activity_kind_concurrent_kernel ? sizeof(cupti::KernelActivity)
                             : kind == cupti::activity_kind_graph_trace     ? sizeof(cupti::GraphActivity)
                                                                            : sizeof(cupti::CopyActivity);
    auto* next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + size;
    if (next >= buffer + bytes) return 12;
    return *record = reinterpret_cast<cupti::Activity*>(next), 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
    return *dropped = 0, 0;
}
}
