// What the three programs share: options, a clock, the check that a device computes, memory, and a line of JSON.
#pragma once

#include <dlfcn.h>
#include <openacc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// Loops without data directives reach managed memory. nvc++ -gpu=managed takes every allocation for such; GCC has to be
// told that an address is good on the device.
#ifdef __NVCOMPILER
#define REACHES(...)
#else
#define REACHES(...) deviceptr(__VA_ARGS__)
#endif

namespace programs {

enum Exit { kRight = 0, kWrong = 1, kUsage = 2, kNoDevice = 3 };

[[noreturn]] inline void fail(Exit code, const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::exit(code);
}

// Options of the form --name value; those that the program does not name beforehand are refused.
class Options {
  public:
    Options(int count, char** words, std::map<std::string, std::string> defaults) : values_(std::move(defaults)) {
        for (int i = 1; i < count; i += 2) {
            const std::string name = std::strncmp(words[i], "--", 2) == 0 ? words[i] + 2 : "";
            if (values_.find(name) == values_.end()) fail(kUsage, "unknown option " + std::string(words[i]));
            if (i + 1 == count) fail(kUsage, "a value is missing after --" + name);
            values_[name] = words[i + 1];
        }
    }

    const std::string& text(const std::string& name) const { return values_.at(name); }

    double real(const std::string& name, double least, double most) const {
        char* end = nullptr;
        const std::string& word = text(name);
        const double value = std::strtod(word.c_str(), &end);
        if (word.empty() || *end != '\0' || !(value >= least && value <= most)) {
            fail(kUsage, "--" + name + " " + word + ": expected a number from " + short_text(least) + " to " +
                             short_text(most));
        }
        return value;
    }

    std::int64_t whole(const std::string& name, std::int64_t least, std::int64_t most) const {
        const double value = real(name, static_cast<double>(least), static_cast<double>(most));
        if (value != static_cast<double>(static_cast<std::int64_t>(value))) {
            fail(kUsage, "--" + name + " " + text(name) + ": expected a whole number");
        }
        return static_cast<std::int64_t>(value);
    }

  private:
    static std::string short_text(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.15g", value);
        return text;
    }

    std::map<std::string, std::string> values_;
};

// How data moves. "both": directives are there and the compiler's managed mode is on, so that it ignores them.
enum class Way { kExplicit, kAutomatic };

inline Way way_of(const Options& options) {
    const std::string& word = options.text("way");
#ifdef MANAGED_MODE
    if (word == "both") return Way::kExplicit;
    if (word == "explicit") fail(kUsage, "this program was built with managed mode; it has automatic and both");
#else
    if (word == "explicit") return Way::kExplicit;
    if (word == "both") fail(kUsage, "this program was built without managed mode (nvc++ -gpu=managed): no both");
#ifdef __NVCOMPILER
    if (word == "automatic") fail(kUsage, "this program was built without managed mode: it has explicit alone");
#endif
#endif
    if (word == "automatic") return Way::kAutomatic;
    fail(kUsage, "--way " + word + ": expected explicit, automatic or both");
}

inline double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

// Ends the program unless loops run on a device: figures of a fallback to the host would say nothing. Returns its name.
inline std::string require_device() {
    if (acc_get_num_devices(acc_device_nvidia) < 1) {
        fail(kNoDevice,
             "no NVIDIA device for OpenACC: it would run on the host. Looked for libcuda.so.1 and, with GCC, "
             "libgomp-plugin-nvptx.so.1");
    }
    acc_set_device_type(acc_device_nvidia);  // GCC's runtime ends a program that calls acc_init after it.
    int on_device = 0;
#pragma acc parallel copy(on_device)
    on_device = acc_on_device(acc_device_not_host) != 0;
    if (!on_device || acc_get_device_type() == acc_device_host) {
        fail(kNoDevice, "OpenACC fell back to the host although there is an NVIDIA device");
    }
    const char* name = acc_get_property_string(0, acc_device_nvidia, acc_property_name);
    return name ? name : "";
}

// Ordinary memory, which nvc++ -gpu=managed makes managed memory of.
inline double* new_doubles(std::int64_t count) {
    void* memory = std::malloc(static_cast<std::size_t>(count) * sizeof(double));
    if (!memory) fail(kUsage, "no host memory for " + std::to_string(count) + " doubles");
    return static_cast<double*>(memory);
}

// Memory that both sides reach and whose pages the driver moves; it lives until the program ends.
inline double* new_reachable_doubles(std::int64_t count) {
#ifdef __NVCOMPILER
    return new_doubles(count);
#else
    // From the driver itself, since GCC's runtime has no such memory; no toolkit is needed to build this.
    using SetCurrent = int (*)(void*);
    using Allocate = int (*)(std::uint64_t*, std::size_t, unsigned);
    constexpr unsigned kAttachGlobal = 1;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) fail(kNoDevice, std::string("libcuda.so.1 cannot be opened: ") + dlerror());
    const auto set_current = reinterpret_cast<SetCurrent>(dlsym(driver, "cuCtxSetCurrent"));
    const auto allocate = reinterpret_cast<Allocate>(dlsym(driver, "cuMemAllocManaged"));
    if (!set_current || !allocate) fail(kNoDevice, "libcuda.so.1 has no managed memory");
    std::uint64_t address = 0;
    int error = set_current(acc_get_current_cuda_context());
    if (error == 0) error = allocate(&address, static_cast<std::size_t>(count) * sizeof(double), kAttachGlobal);
    if (error != 0) fail(kWrong, "cuMemAllocManaged failed with CUDA error " + std::to_string(error));
    return reinterpret_cast<double*>(address);
#endif
}

inline double* new_array(Way way, std::int64_t count) {
    return way == Way::kExplicit ? new_doubles(count) : new_reachable_doubles(count);
}

inline std::string compiler_name() {
#ifdef __NVCOMPILER
    return "nvc++ " + std::to_string(__NVCOMPILER_MAJOR__) + "." + std::to_string(__NVCOMPILER_MINOR__);
#else
    return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
           std::to_string(__GNUC_PATCHLEVEL__);
#endif
}

// One JSON object, printed on a line of its own.
class Line {
  public:
    Line& add(const char* name, const std::string& text) {
        std::string quoted = "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\') quoted += '\\';
            if (static_cast<unsigned char>(c) >= ' ') quoted += c;
        }
        return put(name, quoted + '"');
    }
    Line& add(const char* name, bool value) { return put(name, value ? "true" : "false"); }
    Line& add(const char* name, std::int64_t value) { return put(name, std::to_string(value)); }
    Line& add(const char* name, double value) { return put(name, number(value)); }
    Line& add(const char* name, const std::vector<double>& values) {
        std::string list;
        for (const double value : values) list += (list.empty() ? "" : ", ") + number(value);
        return put(name, "[" + list + "]");
    }
    void print() const {
        std::printf("{%s}\n", text_.c_str());
        std::fflush(stdout);
    }

  private:
    static std::string number(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.17g", value);
        return text;
    }
    Line& put(const char* name, const std::string& value) {
        text_ += std::string(text_.empty() ? "" : ", ") + '"' + name + "\": " + value;
        return *this;
    }

    std::string text_;
};

}  // namespace programs
