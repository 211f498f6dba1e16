// Migrations and faults of managed memory as the driver reports them through CUPTI.
#include "backend/cuda/migration_counter.hpp"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "backend/cuda/context.hpp"

namespace isthmus::cuda {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;
constexpr std::chrono::milliseconds between_flushes{5};

using Block = std::array<std::uint64_t, buffer_bytes / sizeof(std::uint64_t)>;

// CUPTI's callbacks have no argument of the caller's, so what they work on is the process's.
struct Inbox {
    std::mutex mutex;  // guards all below; callbacks come from threads of CUPTI
    bool in_use = false;
    cupti::Api api;
    std::map<std::uint8_t*, std::unique_ptr<Block>> blocks;  // those that CUPTI has
    MigrationReports arrived;
};

// Never destroyed: CUPTI may still call back while the process ends.
Inbox& inbox() {
    static Inbox* const only = std::make_unique<Inbox>().release();
    return *only;
}

// No exception may reach CUPTI, which is C: without memory it gets no buffer, and counts what it drops.
void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) noexcept {
    *buffer = nullptr;
    *bytes = 0;
    *most_records = 0;
    try {
        auto block = std::make_unique<Block>();
        auto* const begin = reinterpret_cast<std::uint8_t*>(block->data());
        const std::lock_guard lock(inbox().mutex);
        inbox().blocks[begin] = std::move(block);
        *buffer = begin;
        *bytes = buffer_bytes;
    } catch (const std::bad_alloc&) {
    }
}

std::string cause_of(std::uint32_t flags) {
    switch (flags) {
        case cupti::cause_user: return "user";
        case cupti::cause_coherence: return "coherence";
        case cupti::cause_prefetch: return "prefetch";
        case cupti::cause_eviction: return "eviction";
        case cupti::cause_access_counters: return "access_counters";
        default: return "unknown";
    }
}

MigrationReport report_of(const cupti::UnifiedMemoryCounter& record) {
    MigrationReport report{{}, {}, record.value, record.address, record.start, record.end};
    switch (record.counter_kind) {
        case cupti::counter_bytes_transfer_htod: report.what = "h2d"; break;
        case cupti::counter_bytes_transfer_dtoh: report.what = "d2h"; break;
        case cupti::counter_cpu_page_fault_count: report.what = "host_fault"; break;
        case cupti::counter_gpu_page_fault: report.what = "device_fault"; break;
        default: report.what = std::to_string(record.counter_kind); break;
    }
    if (report.what == "h2d" || report.what == "d2h") report.cause = cause_of(record.flags);
    return report;
}

void take_buffer(cupti::Context, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) noexcept {
    Inbox& box = inbox();
    const std::lock_guard lock(box.mutex);
    cupti::Activity* record = nullptr;
    while (valid_bytes > 0 && box.api.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == cupti::success) {
        if (record->kind != cupti::activity_kind_unified_memory_counter) continue;
        cupti::UnifiedMemoryCounter counter{};
        std::memcpy(&counter, record, offsetof(cupti::UnifiedMemoryCounter, processors));
        try {
            box.arrived.reports.push_back(report_of(counter));
        } catch (const std::bad_alloc&) {
            ++box.arrived.dropped;
        }
    }
    std::size_t dropped = 0;
    if (box.api.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == cupti::success) {
        box.arrived.dropped += dropped;
    }
    box.blocks.erase(buffer);
}

std::size_t arrived_count() {
    const std::lock_guard lock(inbox().mutex);
    return inbox().arrived.reports.size();
}

}  // namespace

Result<std::unique_ptr<MigrationCounter>> MigrationCounter::create(const std::vector<std::string>& names) {
    // CUPTI asks for a driver that was initialised, and works where that does.
    ISTHMUS_TRY_ASSIGN(driver, Driver::get());
    ISTHMUS_TRY(driver->api.usable());
    ISTHMUS_TRY_ASSIGN(api, cupti::Api::open(names));
    // What callbacks call without asking.
    if (!api.cuptiActivityGetNextRecord || !api.cuptiActivityGetNumDroppedRecords) {
        return Status(Code::function_absent, api.library + " lacks cuptiActivityGetNextRecord; it is no whole CUPTI");
    }
    Inbox& box = inbox();
    {
        const std::lock_guard lock(box.mutex);
        if (box.in_use) return unsupported("migrations are being counted already in this process");
        box.in_use = true;
        box.api = api;
        box.arrived = {};
    }
    std::unique_ptr<MigrationCounter> counter(new MigrationCounter(api));
    ISTHMUS_TRY(counter->start());
    return counter;
}

Status MigrationCounter::start() {
    std::array<cupti::UnifiedMemoryCounterConfig, 4> configs{};
    constexpr std::array kinds{cupti::counter_bytes_transfer_htod, cupti::counter_bytes_transfer_dtoh,
                               cupti::counter_cpu_page_fault_count, cupti::counter_gpu_page_fault};
    for (std::size_t i = 0; i < kinds.size(); ++i) configs[i] = {cupti::scope_process_all_devices, kinds[i], 0, 1};
    ISTHMUS_TRY(api_.call(api_.cuptiActivityRegisterCallbacks, &give_buffer, &take_buffer));
    registered_ = true;
    ISTHMUS_TRY(api_.call(api_.cuptiActivityConfigureUnifiedMemoryCounter, configs.data(),
                          static_cast<std::uint32_t>(configs.size())));
    ISTHMUS_TRY(api_.call(api_.cuptiActivityEnable, cupti::activity_kind_unified_memory_counter));
    enabled_ = true;
    return {};
}

MigrationCounter::~MigrationCounter() {
    if (generation_ != fork_generation()) return;  // what CUPTI has is the parent's
    if (enabled_) (void)api_.call(api_.cuptiActivityDisable, cupti::activity_kind_unified_memory_counter);
    // Gives back the buffers that CUPTI has.
    if (registered_) (void)api_.call(api_.cuptiActivityFlushAll, cupti::activity_flag_flush_forced);
    const std::lock_guard lock(inbox().mutex);
    inbox().arrived = {};
    inbox().in_use = false;
}

std::uint32_t MigrationCounter::version() const {
    std::uint32_t version = 0;
    if (generation_ == fork_generation()) (void)api_.call(api_.cuptiGetVersion, &version);
    return version;
}

Result<MigrationReports> MigrationCounter::collect(std::chrono::nanoseconds quiet, std::chrono::nanoseconds most) {
    using Clock = std::chrono::steady_clock;
    ISTHMUS_TRY_ASSIGN(driver, Driver::get());
    ISTHMUS_TRY(driver->api.usable());
    const Clock::time_point begin = Clock::now();
    Clock::time_point last = begin;
    std::size_t count = arrived_count();
    while (Clock::now() - last < quiet && Clock::now() - begin < most) {
        // Forced: records that are not complete are of no other use here.
        ISTHMUS_TRY(api_.call(api_.cuptiActivityFlushAll, cupti::activity_flag_flush_forced));
        if (const std::size_t now = arrived_count(); now != count) {
            count = now;
            last = Clock::now();
        }
        std::this_thread::sleep_for(between_flushes);
    }
    const std::lock_guard lock(inbox().mutex);
    return std::exchange(inbox().arrived, {});
}

}  // namespace isthmus::cuda
