// What CUPTI reports of a program's copies, fills, kernels and calls: as far as it is read here.
//
// Newer versions append to these records, and old ones stay as they are: so each begins as the record of every version
// from CUDA 11.8 on does. A test compares them with NVIDIA's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::cupti {

// CUpti_ActivityMemcpy
struct CopyActivity {
    int kind;
    std::uint8_t copy_kind, source_kind, destination_kind, flags;
    std::uint64_t bytes, start, end;
    std::uint32_t device, context, stream, correlation;
};

// CUpti_ActivityMemcpyPtoP
struct PeerCopyActivity {
    int kind;
    std::uint8_t copy_kind, source_kind, destination_kind, flags;
    std::uint64_t bytes, start, end;
    std::uint32_t device, context, stream;
    std::uint32_t source_device, source_context, destination_device, destination_context;
    std::uint32_t correlation;
};

// CUpti_ActivityMemset
struct MemsetActivity {
    int kind;
    std::uint32_t value;
    std::uint64_t bytes, start, end;
    std::uint32_t device, context, stream, correlation;
};

// CUpti_ActivityKernel
struct KernelActivity {
    int kind;
    std::uint32_t settings[3];
    std::uint64_t start, end, completed;
    std::uint32_t device, context, stream;
    std::uint32_t grid[3], block[3];
    std::uint32_t memory[4];
    std::uint32_t correlation;
    std::int64_t grid_number;
    const char* name;
};

// CUpti_ActivityGraphTrace: a whole graph
struct GraphActivity {
    int kind;
    std::uint32_t correlation;
    std::uint64_t start, end;
    std::uint32_t device, graph, context, stream;
};

// CUpti_CallbackData
struct CallbackData {
    int site;
    const char* function;
    const void* parameters;
    void* returned;
    const char* symbol;
    void* context;
    std::uint32_t context_number;
    std::uint64_t* user_data;
    std::uint32_t correlation;
};

// CUpti_ResourceData
struct ResourceData {
    void* context;
    void* handle;
    void* descriptor;
};

}  // namespace isthmus::cupti
