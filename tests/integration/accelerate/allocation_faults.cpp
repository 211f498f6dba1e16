// Makes each allocation of the library that accelerates fail in turn, once or from there on: memory, mappings and
// threads. Whatever fails, a program's copies succeed and are right, as without the library.
//
// allocation_faults start|copies once|sticky [STRIDE], with the library preloaded and the fake driver: start is the
// first copy, with which the library begins; copies are all others. Prints what sweep.hpp prints.
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "../drivers/sweep.hpp"
#include "driver.hpp"
#include "random_copies.hpp"

namespace {

using namespace sweep;

std::uintptr_t library_begin = 0, library_end = 0;

// Only what the library asks for, wherever the function that is called lies.
#define IS_TO_FAIL() (is_of_library(__builtin_return_address(0)) && fails())

bool is_of_library(const void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    return address >= library_begin && address < library_end;
}

int find_library(dl_phdr_info* object, std::size_t, void*) {
    if (std::strstr(object->dlpi_name, "libisthmus_accelerator") == nullptr) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        library_begin = object->dlpi_addr + part.p_vaddr;
        library_end = library_begin + part.p_memsz;
    }
    return 1;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
    return IS_TO_FAIL() ? nullptr : __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    return IS_TO_FAIL() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
    return IS_TO_FAIL() ? nullptr : __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return IS_TO_FAIL() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    if (IS_TO_FAIL()) return ENOMEM;
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    if (IS_TO_FAIL()) return errno = ENOMEM, MAP_FAILED;
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* given) noexcept {
    using Create = decltype(&pthread_create);
    static const auto next = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return IS_TO_FAIL() ? EAGAIN : next(thread, attributes, begin, given);
}
}

namespace {

constexpr std::size_t bytes = (std::size_t{3} << 20) + 5, width = 5000, rows = 500, layers = 3, pieces = 30;

struct Scenario {
    Block block{2 * bytes};
    std::vector<std::byte> host = std::vector<std::byte>(2 * bytes), arrived = std::vector<std::byte>(2 * bytes);
    Stream stream = nullptr;
    std::byte* pinned = nullptr;
    unsigned char turn = 0;
    int ending = well;

    void result(bool is_right, const char* what, Code code) {
        if (code == success && is_right) return;
        std::snprintf(message, sizeof message, "%s: %d", what, code);
        ending = code != success ? wrong_code : wrong_data;
    }
    // Two copies, there and back, by functions that give the driver's code; `length` bytes of either side's first.
    template <typename There, typename Back>
    void trip(const char* what, std::size_t length, const There& there, const Back& back) {
        ++turn;
        for (std::size_t i = 0; i < length; ++i) host[i] = static_cast<std::byte>((i * 2654435761U >> 13) + turn);
        std::memset(arrived.data(), 0, length);
        Code code = there();
        if (code == success) code = driver->cuStreamSynchronize(stream);
        if (code == success) code = back();
        if (code == success) code = driver->cuStreamSynchronize(stream);
        result(std::memcmp(host.data(), arrived.data(), length) == 0, what, code);
    }

    void first_copy() {
        trip(
            "synchronous", bytes, [&] { return driver->cuMemcpyHtoD(block.address, host.data(), bytes); },
            [&] { return driver->cuMemcpyDtoH(arrived.data(), block.address, bytes); });
    }
    void other_copies() {
        trip(
            "asynchronous", bytes, [&] { return driver->cuMemcpyHtoDAsync(block.address, host.data(), bytes, stream); },
            [&] { return driver->cuMemcpyDtoHAsync(arrived.data(), block.address, bytes, stream); });
        trip(
            "unified", bytes, [&] { return driver->cuMemcpy(block.address, at(host.data()), bytes); },
            [&] { return driver->cuMemcpy(at(arrived.data()), block.address, bytes); });
        of_rows();
        of_batches();
        // What frameworks do: into page-locked memory and out of it, by the program itself.
        ++turn;
        std::memset(host.data(), turn, bytes);
        std::memset(pinned, 0, bytes);
        std::memcpy(pinned, host.data(), bytes);
        std::memset(arrived.data(), 0, bytes);
        std::memcpy(arrived.data(), pinned, bytes);
        result(std::memcmp(host.data(), arrived.data(), bytes) == 0, "staged", success);
        first_copy();
    }
    void of_rows() {
        Copy3d there{}, back{};
        for (Copy3d* copy : {&there, &back}) {
            const bool to_device = copy == &there;
            copy->source_type = to_device ? 1 : 2;
            copy->destination_type = to_device ? 2 : 1;
            copy->source_host = host.data();
            copy->destination_host = arrived.data();
            copy->source_device = copy->destination_device = block.address;
            copy->source_pitch_bytes = to_device ? width : width + 60;
            copy->destination_pitch_bytes = to_device ? width + 60 : width;
            copy->source_height = copy->destination_height = rows;
            copy->width_bytes = width, copy->height = rows, copy->depth = 1;
        }
        Copy2d there_2d{}, back_2d{};
        for (const auto& [flat, copy] : {std::pair{&there_2d, &there}, std::pair{&back_2d, &back}}) {
            flat->source_type = copy->source_type, flat->destination_type = copy->destination_type;
            flat->source_host = copy->source_host, flat->destination_host = copy->destination_host;
            flat->source_device = flat->destination_device = block.address;
            flat->source_pitch_bytes = copy->source_pitch_bytes;
            flat->destination_pitch_bytes = copy->destination_pitch_bytes;
            flat->width_bytes = width, flat->height = rows;
        }
        trip(
            "rows", width * rows, [&] { return driver->cuMemcpy2DAsync(&there_2d, stream); },
            [&] { return driver->cuMemcpy2D(&back_2d); });
        for (Copy3d* copy : {&there, &back}) copy->height = copy->source_height = copy->destination_height = rows / 5;
        for (Copy3d* copy : {&there, &back}) copy->depth = layers;
        trip(
            "layers", width * (rows / 5) * layers, [&] { return driver->cuMemcpy3D(&there); },
            [&] { return driver->cuMemcpy3DAsync(&back, stream); });
    }
    void of_batches() {
        const std::size_t piece = bytes / pieces;
        std::array<DevicePointer, pieces> there{}, from{}, to{};
        std::array<std::size_t, pieces> sizes{};
        for (std::size_t i = 0; i < pieces; ++i) {
            there[i] = block.address + 2 * i * piece;
            from[i] = at(host.data() + i * piece);
            to[i] = at(arrived.data() + i * piece);
            sizes[i] = piece;
        }
        CopyAttributes given{};
        given.source_access_order = 1;
        std::size_t first = 0, failed = 0;
        const auto copy = [&](auto& targets, auto& sources) {
            return driver->cuMemcpyBatchAsync(targets.data(), sources.data(), sizes.data(), pieces, &given, &first, 1,
                                              &failed, stream);
        };
        trip(
            "a batch", piece * pieces, [&] { return copy(there, from); }, [&] { return copy(to, there); });
    }
};

int scenario(bool starting) {
    const Driver functions;
    driver = &functions;
    Context context = nullptr;
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&context, 0) != success) return 2;
    driver->cuCtxSetCurrent(context);
    Scenario scenario;
    if (driver->cuStreamCreate(&scenario.stream, 0) != success) return 2;
    if (!starting) scenario.first_copy();
    armed = true;
    void* pinned = nullptr;
    scenario.result(true, "page-locked memory", driver->cuMemHostAlloc(&pinned, bytes, 0));
    scenario.pinned = static_cast<std::byte*>(pinned);
    if (starting) scenario.first_copy();
    if (!starting) scenario.other_copies();
    armed = false;
    const bool reached = until <= 0;
    // There is memory again.
    if (scenario.ending == well) scenario.other_copies();
    scenario.result(true, "giving back", driver->cuMemFreeHost(pinned));
    return scenario.ending != well ? scenario.ending : reached ? well : beyond;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    reach = "dlsym";
    const bool starting = std::strcmp(words[1], "start") == 0;
    sticky = std::strcmp(words[2], "sticky") == 0;
    const long stride = count > 3 ? std::max(std::atol(words[3]), 1L) : 1;
    dl_iterate_phdr(&find_library, nullptr);
    if (library_end == 0) return 3;
    return over_all_points([starting] { return scenario(starting); }, stride);
}
