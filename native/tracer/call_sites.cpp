// Where in the program a call came from.
#include "tracer/call_sites.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace isthmus::tracer {
namespace {

// Programs that write code as they run have call sites without end.
constexpr std::size_t most_sites = 100'000;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29U);
}

std::string_view file_name(const char* path) {
    const std::string_view whole(path);
    return whole.substr(whole.rfind('/') + 1);
}

// Between the program and us stand these, which say nothing of the program.
bool is_plumbing(std::string_view module) {
    for (const std::string_view each :
         {"libisthmus_", "libcupti", "libcuda.so", "libcudart", "libnvidia", "libOpenCL"}) {
        if (module.starts_with(each)) return true;
    }
    return false;
}

// ``libapp.so+0x1f40 exchange(int)``
std::string describe_native(const Dl_info& found, const void* address) {
    std::array<char, 32> offset{};
    const auto distance = static_cast<const char*>(address) - static_cast<const char*>(found.dli_fbase);
    std::snprintf(offset.data(), offset.size(), "+0x%tx", distance);
    std::string text(file_name(found.dli_fname));
    text += offset.data();
    if (found.dli_sname == nullptr) return text;
    int failed = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &failed), &std::free);
    return text + " " + (failed == 0 && readable ? readable.get() : found.dli_sname);
}

}  // namespace

std::uint32_t CallSites::here() {
    PythonFrames::Places places;
    Addresses addresses;
    const std::size_t count = python_ ? python_->places(places) : 0;
    const auto native_count = native_ ? static_cast<std::size_t>(backtrace(addresses.data(), most_native)) : 0;
    if (count + native_count == 0) return 0;
    std::uint64_t key = count;
    for (std::size_t index = 0; index < count; ++index) {
        key = mixed(key, reinterpret_cast<std::uint64_t>(places[index].code));
        key = mixed(key, static_cast<std::uint64_t>(places[index].instruction));
        key = mixed(key, reinterpret_cast<std::uint64_t>(places[index].lines));
    }
    for (std::size_t index = 0; index < native_count; ++index) {
        key = mixed(key, reinterpret_cast<std::uint64_t>(addresses[index]));
    }
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (known_.size() >= most_sites) return 0;
    const std::uint32_t text = describe(places, count, addresses, native_count);
    known_.emplace(key, text);
    return text;
}

std::uint32_t CallSites::describe(const PythonFrames::Places& places, std::size_t count, const Addresses& addresses,
                                  std::size_t native_count) {
    std::string text;
    const auto add = [&](const std::string& frame) { text += (text.empty() ? "" : "\n") + frame; };
    for (std::size_t index = 0; index < count; ++index) add(python_->describe(places[index]));
    bool inside = true;
    for (std::size_t index = 0; index < native_count; ++index) {
        Dl_info found{};
        const bool known = dladdr(addresses[index], &found) != 0 && found.dli_fname != nullptr;
        inside = inside && known && is_plumbing(file_name(found.dli_fname));
        if (!inside && known) add(describe_native(found, addresses[index]));
    }
    return file_.text(text);
}

}  // namespace isthmus::tracer
