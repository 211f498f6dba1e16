// CUPTI, opened at run time: what counts migrations of managed memory and traces programs. Optional: its absence never
// fails anything else.
//
// Declared here by hand, so that building needs no CUDA toolkit; a test compares it with NVIDIA's cupti.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "driver/library.hpp"

namespace isthmus::cupti {

using Context = void*;  // a CUcontext, which callbacks and calls here have no use for
using ReturnCode = int;
// Asked for a buffer (sets buffer, its size and the most records, 0 for any), and given it back with its valid bytes.
using BufferRequested = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using BufferCompleted = void (*)(Context, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
using Subscriber = void*;
// Called with the caller's pointer, a domain, a number of a function or an event in it, and what happened.
using Callback = void (*)(void*, int, std::uint32_t, const void*);
using Timestamp = std::uint64_t (*)();

// CUpti_Activity: what every record begins with.
struct alignas(8) Activity {
    int kind;
};

// CUpti_ActivityUnifiedMemoryCounter3. Before CUDA 13 records end where `processors` begins.
struct UnifiedMemoryCounter {
    int kind, counter_kind;
    std::uint64_t value, start, end, address;
    std::uint32_t source, destination, stream, process, flags, padding;
    std::uint64_t processors[5];
};

// CUpti_ActivityUnifiedMemoryCounterConfig
struct alignas(8) UnifiedMemoryCounterConfig {
    int scope, kind;
    std::uint32_t device, enable;
};

inline constexpr ReturnCode success = 0;
inline constexpr ReturnCode error_um_profiling_not_supported = 28;
inline constexpr ReturnCode error_um_profiling_not_supported_on_device = 29;
inline constexpr ReturnCode error_um_profiling_not_supported_on_non_p2p_devices = 30;
inline constexpr ReturnCode error_um_profiling_not_supported_with_mps = 31;
inline constexpr ReturnCode error_insufficient_privileges = 35;
inline constexpr ReturnCode error_multiple_subscribers_not_supported = 39;
inline constexpr ReturnCode error_virtualized_device_insufficient_privileges = 40;
inline constexpr ReturnCode error_unknown = 999;

inline constexpr int activity_kind_memcpy = 1;
inline constexpr int activity_kind_memset = 2;
inline constexpr int activity_kind_concurrent_kernel = 10;
inline constexpr int activity_kind_memcpy2 = 22;
inline constexpr int activity_kind_unified_memory_counter = 25;
inline constexpr int activity_kind_graph_trace = 51;
inline constexpr std::uint32_t activity_flag_flush_forced = 1;
inline constexpr int scope_process_all_devices = 2;
inline constexpr int counter_bytes_transfer_htod = 1;
inline constexpr int counter_bytes_transfer_dtoh = 2;
inline constexpr int counter_cpu_page_fault_count = 3;
inline constexpr int counter_gpu_page_fault = 4;
inline constexpr int counter_thrashing = 5;
inline constexpr int counter_throttling = 6;
inline constexpr int counter_remote_map = 7;
inline constexpr int counter_bytes_transfer_dtod = 8;
inline constexpr std::uint32_t cause_user = 1;
inline constexpr std::uint32_t cause_coherence = 2;
inline constexpr std::uint32_t cause_prefetch = 3;
inline constexpr std::uint32_t cause_eviction = 4;
inline constexpr std::uint32_t cause_access_counters = 5;
inline constexpr std::uint8_t memcpy_kind_htod = 1;
inline constexpr std::uint8_t memcpy_kind_dtoh = 2;
inline constexpr std::uint8_t memcpy_kind_dtod = 8;
inline constexpr std::uint8_t memcpy_kind_htoh = 9;
inline constexpr std::uint8_t memcpy_kind_ptop = 10;
inline constexpr std::uint8_t memory_kind_pageable = 1;
inline constexpr std::uint8_t memory_kind_pinned = 2;
inline constexpr std::uint8_t memory_kind_device = 3;
inline constexpr std::uint8_t memory_kind_managed = 5;
inline constexpr int domain_driver_api = 1;
inline constexpr int domain_runtime_api = 2;
inline constexpr int domain_resource = 3;
inline constexpr std::uint32_t resource_context_created = 1;
inline constexpr int api_enter = 0;

// X(function, exported symbol, first CUDA version, parameters)
#define ISTHMUS_CUPTI_FUNCTIONS(X)                                                                                    \
    X(cuptiGetVersion, "cuptiGetVersion", "CUDA 5.0", (std::uint32_t*))                                               \
    X(cuptiGetResultString, "cuptiGetResultString", "CUDA 5.0", (ReturnCode, const char**))                           \
    X(cuptiActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks", "CUDA 6.0",                                   \
      (BufferRequested, BufferCompleted))                                                                             \
    X(cuptiActivityConfigureUnifiedMemoryCounter, "cuptiActivityConfigureUnifiedMemoryCounter", "CUDA 6.0",           \
      (UnifiedMemoryCounterConfig*, std::uint32_t))                                                                   \
    X(cuptiActivityEnable, "cuptiActivityEnable", "CUDA 5.0", (int))                                                  \
    X(cuptiActivityDisable, "cuptiActivityDisable", "CUDA 5.0", (int))                                                \
    X(cuptiActivityFlushAll, "cuptiActivityFlushAll", "CUDA 6.0", (std::uint32_t))                                    \
    X(cuptiActivityGetNextRecord, "cuptiActivityGetNextRecord", "CUDA 5.0", (std::uint8_t*, std::size_t, Activity**)) \
    X(cuptiActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords", "CUDA 5.0",                             \
      (Context, std::uint32_t, std::size_t*))                                                                         \
    X(cuptiActivityFlushPeriod, "cuptiActivityFlushPeriod", "CUDA 11.1", (std::uint32_t))                             \
    X(cuptiActivityRegisterTimestampCallback, "cuptiActivityRegisterTimestampCallback", "CUDA 11.7", (Timestamp))     \
    X(cuptiGetCallbackName, "cuptiGetCallbackName", "CUDA 4.1", (int, std::uint32_t, const char**))                   \
    X(cuptiGetDeviceId, "cuptiGetDeviceId", "CUDA 5.0", (Context, std::uint32_t*))                                    \
    X(cuptiGetStreamIdEx, "cuptiGetStreamIdEx", "CUDA 8.0", (Context, void*, std::uint8_t, std::uint32_t*))           \
    X(cuptiGetTimestamp, "cuptiGetTimestamp", "CUDA 5.0", (std::uint64_t*))                                           \
    X(cuptiSubscribe, "cuptiSubscribe", "CUDA 4.0", (Subscriber*, Callback, void*))                                   \
    X(cuptiEnableDomain, "cuptiEnableDomain", "CUDA 4.0", (std::uint32_t, Subscriber, int))                           \
    X(cuptiEnableCallback, "cuptiEnableCallback", "CUDA 4.0", (std::uint32_t, Subscriber, int, std::uint32_t))

struct Api {
#define ISTHMUS_DECLARE(function, symbol, since, parameters) \
    Function<ReturnCode parameters> function{symbol, since, nullptr};
    ISTHMUS_CUPTI_FUNCTIONS(ISTHMUS_DECLARE)
#undef ISTHMUS_DECLARE

    std::string library;

    // Takes a libcupti that is in the process already, because it serves one user at a time, else the first of `names`
    // that the loader finds. Fails with library_absent, naming all that was tried.
    static Result<Api> open(std::span<const std::string> names);

    // Calls `function`, naming it in the failure.
    template <typename... Parameters, typename... Arguments>
    Status call(const Function<ReturnCode(Parameters...)>& function, Arguments... arguments) const {
        if (!function) {
            return {Code::function_absent,
                    std::string(function.name) + " is absent from " + library + "; it needs " + function.since};
        }
        const ReturnCode code = function(arguments...);
        return code == success ? Status() : failure(function.name, code);
    }
    // Every failure is `unsupported`, since it costs the counters and nothing else; it says what to do.
    Status failure(const char* function, ReturnCode code) const;
};

}  // namespace isthmus::cupti
