// Where in the program a call or a touch comes from.
#include "races/places.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace isthmus::races {
namespace {

// Libraries by which the kernel or a device uses memory without a call of the C library. cuFile's calls, io_uring's
// among them, are seen (c_library.cpp).
struct User {
    std::string_view library;
    const char* why;
};
constexpr std::array users_of_memory{
    User{"liburing", "liburing is loaded, by which the kernel may use memory by itself"},
    User{"libaio", "libaio is loaded, by which the kernel may use memory by itself"},
    User{"libibverbs", "libibverbs is loaded, by which a network adapter may use memory by itself"},
};

class Sink {
  public:
    explicit Sink(PlaceText& text) : text_(text) { text_[0] = '\0'; }
    void add(std::string_view part) {
        const std::size_t room = text_.size() - 1 - used_;
        const std::size_t taken = std::min(room, part.size());
        std::memcpy(text_.data() + used_, part.data(), taken);
        used_ += taken;
        text_[used_] = '\0';
    }
    void add_number(std::uintptr_t value, unsigned base) {
        std::array<char, 24> digits{};
        std::size_t at = digits.size();
        do {
            digits[--at] = "0123456789abcdef"[value % base];
            value /= base;
        } while (value != 0);
        add({digits.data() + at, digits.size() - at});
    }
    void next_line() {
        if (used_ != 0) add("\n");
    }

  private:
    PlaceText& text_;
    std::size_t used_ = 0;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29U);
}

std::string_view name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

constexpr unsigned hexadecimal = 16, decimal = 10;

}  // namespace

std::uint64_t Frames::hash() const {
    std::uint64_t hash = native_count;
    for (std::size_t i = 0; i < native_count; ++i) hash = mixed(hash, reinterpret_cast<std::uintptr_t>(native[i]));
    for (std::size_t i = 0; i < python_count; ++i) {
        hash = mixed(hash, reinterpret_cast<std::uintptr_t>(python[i].code));
        hash = mixed(hash, static_cast<std::uint64_t>(python[i].instruction));
        hash = mixed(hash, reinterpret_cast<std::uintptr_t>(python[i].lines));
    }
    return hash == 0 ? 1 : hash;
}

void Places::prepare() {
    const std::unique_lock guard(looking_, std::try_to_lock);
    if (guard.owns_lock()) prepare_alone();
}
void Places::prepare_alone() {
    if (std::exchange(is_prepared_, true)) return;
    std::string version;
    python_ = tracer::PythonFrames::find(version);
    // The first one loads the unwinder.
    std::array<void*, 1> none;
    backtrace(none.data(), 1);
}

const char* Places::look_around() {
    // Another thread that looks may wait for one that loads a library, which may be this one.
    const std::unique_lock guard(looking_, std::try_to_lock);
    if (!guard.owns_lock()) return nullptr;
    prepare_alone();
    struct Looking {
        Places* places;
        Modules* modules;
        bool is_first = true, is_new = false, has_python = false;
        const char* uses_memory = nullptr;
    } looking{this, &tables_[1 - current_.load(std::memory_order_relaxed)]};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& now = *static_cast<Looking*>(data);
            Places& places = *now.places;
            if (std::exchange(now.is_first, false)) {
                if (places.loaded_ == info->dlpi_adds && places.unloaded_ == info->dlpi_subs) return 1;
                places.loaded_ = info->dlpi_adds;
                places.unloaded_ = info->dlpi_subs;
                now.modules->count = 0;
                now.is_new = true;
            }
            for (int i = 0; i < info->dlpi_phnum && now.modules->count < most_modules; ++i) {
                const auto& header = info->dlpi_phdr[i];
                if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
                Module& module = now.modules->all[now.modules->count++];
                module.base = info->dlpi_addr;
                module.begin = info->dlpi_addr + header.p_vaddr;
                module.end = module.begin + header.p_memsz;
                const char* path = info->dlpi_name;
                if (path == nullptr || *path == '\0') path = program_invocation_name;
                const std::string_view name = name_of(path);
                module.is_drivers = name.starts_with("libcuda.so") || name.starts_with("libnvidia");
                module.is_ours = name.starts_with("libisthmus_");
                now.has_python = now.has_python || name.starts_with("libpython");
                for (const auto& [each, why] : users_of_memory) {
                    if (name.starts_with(each)) now.uses_memory = why;
                }
                std::strncpy(module.path.data(), path, module.path.size() - 1);
                module.path.back() = '\0';
            }
            return 0;
        },
        &looking);
    if (looking.is_new) current_.store(1 - current_.load(std::memory_order_relaxed), std::memory_order_release);
    if (looking.is_new && looking.has_python && !python_) {
        std::string version;
        python_ = tracer::PythonFrames::find(version);
    }
    if (looking.uses_memory != nullptr) uses_memory_ = looking.uses_memory;
    return uses_memory_;
}

Frames Places::here(const void* interrupted) const {
    Frames frames;
    frames.native_count = static_cast<std::size_t>(std::max(backtrace(frames.native.data(), Frames::most), 0));
    auto* const begin = frames.native.begin();
    auto* const end = begin + frames.native_count;
    void** first = nullptr;
    if (interrupted != nullptr) {
        first = std::find(begin, end, interrupted);
        if (first == end) *(first = begin) = const_cast<void*>(interrupted);
    } else {
        first = std::find_if(begin, end, [this](const void* address) {
            const Module* module = module_of(reinterpret_cast<std::uintptr_t>(address));
            return module == nullptr || !module->is_ours;
        });
    }
    frames.native_count = static_cast<std::size_t>(std::move(first, end, begin) - begin);
    if (python_) frames.python_count = python_->places(frames.python);
    return frames;
}

void Places::describe(const Frames& frames, PlaceText& text) const {
    Sink sink(text);
    for (std::size_t i = 0; i < frames.python_count && python_; ++i) {
        sink.next_line();
        python_->describe(
            frames.python[i], [&sink](std::string_view part) { sink.add(part); },
            [&sink](int line) { sink.add_number(static_cast<std::uintptr_t>(line), decimal); });
    }
    for (std::size_t i = 0; i < frames.native_count; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(frames.native[i]);
        const Module* module = module_of(address);
        if (module == nullptr) continue;
        sink.next_line();
        sink.add(module->path.data());
        sink.add("+0x");
        sink.add_number(address - module->base, hexadecimal);
    }
}

bool Places::is_drivers(const void* address) const {
    const Module* module = module_of(reinterpret_cast<std::uintptr_t>(address));
    return module != nullptr && module->is_drivers;
}

const Places::Module* Places::module_of(std::uintptr_t address) const {
    const Modules& all = modules();
    const auto* const end = all.all.begin() + all.count;
    const auto* const first = std::find_if(all.all.begin(), end, [address](const Module& module) {
        return module.begin <= address && address < module.end;
    });
    return first == end ? nullptr : first;
}

}  // namespace isthmus::races
