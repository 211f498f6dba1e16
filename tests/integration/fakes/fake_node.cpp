// A CUDA driver and an NVML whose copies take as long as a test says, for `isthmus-check`: time is counted, not spent.
// The same source is libcuda.so.1 and libnvidia-ml.so.1. Where libcuda.so.1 is preloaded, too, the host's clock stands
// still from the opening of a device on but for what copies take, so that no verdict depends on the machine's load.
//
// FAKE_NODE_NAME is the devices' name, FAKE_NODE_DEVICES how many there are. FAKE_NODE_RATES are GB/s: pinned to,
// pinned back, both at once, pageable to, pageable back; each repeat is FAKE_NODE_NOISE per cent slower or faster in
// turn. FAKE_NODE_SLOW is a device and its rates where they are not those of all. FAKE_NODE_LINK is generation and
// width, then at most; FAKE_NODE_REPLAYS are replays at first and under load. FAKE_NODE_BUSY, _MIG, _CONFIDENTIAL,
// _VIRTUAL, _SHARES, _WRONG and _THROTTLED say what their names say. FAKE_NODE_HANGS and FAKE_NODE_DIES name a device,
// and FAKE_NODE_AT the call in which it does: open or copy. With FAKE_NODE_WHOLE all copies are made, as runs of
// `isthmus check`, which verify each case, need them. FAKE_NODE_FULL is a device whose memory others have.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>

namespace {

constexpr int success = 0, out_of_memory = 2, not_supported = 3, failed = 999;

const char* text_of(const char* name) {
    return std::getenv(name);
}
int number_of(const char* name, int otherwise) {
    const char* text = text_of(name);
    return text != nullptr ? std::atoi(text) : otherwise;
}

// The moment that an event was recorded at, or nothing of a stream.
struct Clock {
    double seconds = 0;
};

// What was queued and not yet waited for.
struct Queued {
    double seconds = 0, bytes = 0;
};

int device_in_hand = 0, copies = 0, turn = 0;
bool is_open = false;
double host_seconds = 1;
std::array<Queued, 2> queued;
std::map<std::uintptr_t, std::size_t> pinned;
void* current_context = nullptr;

bool is_pinned(std::uintptr_t address) {
    auto at = pinned.upper_bound(address);
    return at != pinned.begin() && address < (--at)->first + at->second;
}

// What a test wants of a device at a place.
int fate(const char* place) {
    const char* at = text_of("FAKE_NODE_AT");
    if (std::strcmp(at != nullptr ? at : "open", place) != 0) return success;
    while (number_of("FAKE_NODE_HANGS", -1) == device_in_hand) pause();
    if (number_of("FAKE_NODE_DIES", -1) == device_in_hand) std::raise(SIGKILL);
    return number_of("FAKE_NODE_LOST", -1) == device_in_hand ? failed : success;
}

double rate_of(unsigned which) {
    std::array<double, 5> rates{50, 50, 90, 10, 10};
    const char* text = text_of("FAKE_NODE_RATES");
    if (const char* slow = text_of("FAKE_NODE_SLOW"); slow != nullptr && std::atoi(slow) == device_in_hand) {
        text = slow + std::strcspn(slow, " ");
    }
    if (text != nullptr) {
        std::sscanf(text, "%lf %lf %lf %lf %lf", &rates[0], &rates[1], &rates[2], &rates[3], &rates[4]);
    }
    const double noise = number_of("FAKE_NODE_NOISE", 0) / 100.0;
    return 1e9 * rates[which] * (turn % 2 == 0 ? 1 + noise : 1 - noise);
}

int copy(void* to, const void* from, std::size_t bytes, bool to_device) {
    if (const int code = fate("copy"); code != success) return code;
    // What is sent and fetched again to be compared; all later ones are counted alone, but for a run.
    const bool is_whole = text_of("FAKE_NODE_WHOLE") != nullptr;
    if (++copies <= 2 || is_whole) std::memcpy(to, from, bytes);
    if ((is_whole ? to_device : copies == 2) && text_of("FAKE_NODE_WRONG") != nullptr)
        static_cast<char*>(to)[bytes / 2] ^= 1;
    const bool is_fast = is_pinned(reinterpret_cast<std::uintptr_t>(to_device ? from : to));
    const unsigned which = is_fast ? (to_device ? 0 : 1) : to_device ? 3 : 4;
    queued[to_device ? 0 : 1].bytes += static_cast<double>(bytes);
    queued[to_device ? 0 : 1].seconds += static_cast<double>(bytes) / rate_of(which);
    return success;
}

// How long what is queued takes: both directions at once share what they have together.
double queued_seconds() {
    const auto& [to, back] = queued;
    return to.bytes > 0 && back.bytes > 0 ? (to.bytes + back.bytes) / rate_of(2) : to.seconds + back.seconds;
}

int part_of_link(int part, unsigned* value) {
    std::array<unsigned, 4> parts{};
    const char* link = text_of("FAKE_NODE_LINK");
    if (link == nullptr || std::sscanf(link, "%u %u %u %u", &parts[0], &parts[1], &parts[2], &parts[3]) != 4) {
        return not_supported;
    }
    return *value = parts[static_cast<unsigned>(part)], success;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    if (!is_open || clock != CLOCK_MONOTONIC) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    time->tv_sec = static_cast<time_t>(host_seconds);
    time->tv_nsec = static_cast<long>(1e9 * (host_seconds - static_cast<double>(time->tv_sec)));
    return success;
}

int cuInit(unsigned) {
    return number_of("FAKE_NODE_INIT", success);
}
int cuDriverGetVersion(int* version) {
    return *version = 12080, success;
}
int cuGetErrorName(int, const char** name) {
    return *name = "CUDA_ERROR", success;
}
int cuGetErrorString(int, const char** text) {
    return *text = "says the fake driver", success;
}
int cuDeviceGetCount(int* count) {
    return *count = number_of("FAKE_NODE_DEVICES", 1), success;
}
int cuDeviceGet(int* device, int index) {
    return *device = index, index < number_of("FAKE_NODE_DEVICES", 1) ? success : 101;
}
int cuDeviceGetName(char* name, int bytes, int) {
    const char* text = text_of("FAKE_NODE_NAME");
    return std::snprintf(name, static_cast<std::size_t>(bytes), "%s", text != nullptr ? text : "Fake GPU"), success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    return *bytes = std::size_t{80} << 30, success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    constexpr int integrated = 18, pageable_access = 88;
    const bool is_no =
        attribute == pageable_access || (attribute == integrated && text_of("FAKE_NODE_SHARES") == nullptr);
    return *value = is_no ? 0 : attribute == 75 ? 9 : 1, success;
}
int cuDeviceGetUuid(char* uuid, int device) {
    return std::memset(uuid, 7 + device, 16), success;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
    return std::snprintf(text, static_cast<std::size_t>(bytes), "fffe:%02X:00.0", 16 + device), success;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    device_in_hand = device;
    if (const int code = fate("open"); code != success) return code;
    is_open = true;
    static char made = 0;
    return *context = &made, success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
    return success;
}
int cuCtxGetId(void*, unsigned long long* id) {
    return *id = 1, success;
}
int cuCtxSetCurrent(void* context) {
    return current_context = context, success;
}
int cuCtxGetCurrent(void** context) {
    return *context = current_context, success;
}
int cuThreadExchangeStreamCaptureMode(int*) {
    return success;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
    if (number_of("FAKE_NODE_FULL", -1) == device_in_hand) return out_of_memory;
    return *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes)), success;
}
int cuMemFree_v2(unsigned long long address) {
    return std::free(reinterpret_cast<void*>(address)), success;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    *memory = std::aligned_alloc(4096, bytes);
    return pinned[reinterpret_cast<std::uintptr_t>(*memory)] = bytes, success;
}
int cuMemFreeHost(void* memory) {
    return pinned.erase(reinterpret_cast<std::uintptr_t>(memory)), std::free(memory), success;
}
int cuMemHostGetDevicePointer_v2(unsigned long long* address, void* memory, unsigned) {
    return *address = reinterpret_cast<std::uintptr_t>(memory), success;
}
int cuStreamCreate(void** stream, unsigned) {
    return *stream = new Clock, success;
}
int cuStreamDestroy_v2(void*) {
    return success;
}
int cuStreamIsCapturing(void*, int* status) {
    return *status = 0, success;
}
int cuStreamSynchronize(void*) {
    if (queued[0].bytes + queued[1].bytes > 0) host_seconds += queued_seconds(), ++turn;
    return queued = {}, success;
}
int cuEventCreate(void** event, unsigned) {
    return *event = new Clock, success;
}
int cuEventDestroy_v2(void*) {
    return success;
}
int cuEventRecord(void* event, void*) {
    return static_cast<Clock*>(event)->seconds = host_seconds + queued_seconds(), success;
}
int cuEventElapsedTime(float* milliseconds, void* start, void* stop) {
    *milliseconds =
        static_cast<float>(1e3 * (static_cast<Clock*>(stop)->seconds - static_cast<Clock*>(start)->seconds));
    return success;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
    return copy(reinterpret_cast<void*>(to), from, bytes, true);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
    return copy(to, reinterpret_cast<const void*>(from), bytes, false);
}

int nvmlInit_v2() {
    return number_of("FAKE_NODE_NO_NVML", success);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
    return *device = const_cast<char*>(address), success;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
    return part_of_link(0, generation);
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
    return part_of_link(1, width);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
    return part_of_link(2, generation);
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
    return part_of_link(3, width);
}
// It is asked twice at rest, when a device is described and when it is opened.
int nvmlDeviceGetPcieReplayCounter(void*, unsigned* replays) {
    static int asked = 0;
    unsigned before = 0, after = 0;
    const char* text = text_of("FAKE_NODE_REPLAYS");
    if (text == nullptr || std::sscanf(text, "%u %u", &before, &after) != 2) return not_supported;
    return *replays = ++asked <= 2 ? before : after, success;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    return *reasons = static_cast<unsigned long long>(number_of("FAKE_NODE_THROTTLED", 0)), success;
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* pending) {
    return *now = *pending = static_cast<unsigned>(number_of("FAKE_NODE_MIG", 0)), success;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percent) {
    percent[0] = static_cast<unsigned>(number_of("FAKE_NODE_BUSY", 0));
    return percent[1] = 0, success;
}
int nvmlDeviceGetVirtualizationMode(void*, int* mode) {
    return *mode = number_of("FAKE_NODE_VIRTUAL", 0), success;
}
int nvmlSystemGetConfComputeState(unsigned* state) {
    state[0] = state[2] = 0;
    return state[1] = static_cast<unsigned>(number_of("FAKE_NODE_CONFIDENTIAL", 0)), success;
}

}  // extern "C"
