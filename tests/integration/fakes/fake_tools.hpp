// The tool that the fake CUDA driver loads into a program, and the copies that it tells the fake CUPTI of
// (fake_tracing.cpp).
#pragma once

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace fake {

using Tell = void (*)(const char* function, const void* parameters, bool begins);
// Null where no tool listens.
inline std::atomic<Tell> tell = nullptr;

// As the driver does when it is initialised: calls the library that the environment names.
inline void load_tool() {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* const path = std::getenv("CUDA_INJECTION64_PATH");
        void* const tool = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
        if (tool == nullptr) return;
        if (void* const begin = dlsym(tool, "InitializeInjection")) (void)reinterpret_cast<int (*)()>(begin)();
        void* const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
        if (cupti != nullptr) tell = reinterpret_cast<Tell>(dlsym(cupti, "fake_tell"));
    });
}

// A call of a copy, from its begin to its end. One that the program leaves by a jump has no end.
class ToldCopy {
  public:
    ToldCopy(const char* function, std::uint64_t to, std::uint64_t from, std::uint64_t bytes, void* stream = nullptr)
        : function_(function), parameters_{to, from, bytes, reinterpret_cast<std::uint64_t>(stream)}, tell_(tell) {
        if (tell_ != nullptr) tell_(function_, parameters_.data(), true);
    }
    ~ToldCopy() {
        if (tell_ != nullptr) tell_(function_, parameters_.data(), false);
    }
    ToldCopy(const ToldCopy&) = delete;
    ToldCopy& operator=(const ToldCopy&) = delete;

  private:
    const char* const function_;
    const std::array<std::uint64_t, 4> parameters_;
    const Tell tell_;
};

}  // namespace fake
