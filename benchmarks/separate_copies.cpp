// One cudaMemcpyAsync for each block of a cache, from C++, as serving engines move them: a library for rows.py.
#include <cstddef>
#include <cstdint>

extern "C" {
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int cudaStreamSynchronize(void* stream);

// Returns the runtime's error; `kind` is 1 to the device and 2 from there.
int copy_blocks(std::size_t layers, void* const* to, const void* const* from, const std::int64_t* to_rows,
                const std::int64_t* from_rows, std::size_t rows, std::size_t bytes, int kind) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
        for (std::size_t i = 0; i < rows; ++i) {
            const int code =
                cudaMemcpyAsync(static_cast<char*>(to[layer]) + to_rows[i] * bytes,
                                static_cast<const char*>(from[layer]) + from_rows[i] * bytes, bytes, kind, nullptr);
            if (code != 0) return code;
        }
    }
    return cudaStreamSynchronize(nullptr);
}
}
