// Every question about page-locked memory: addresses are printed from where their block begins.
#pragma once

#include <cstdio>
#include <fstream>
#include <utility>

#include "functions.hpp"

class Asked {
  public:
    Asked(const Memory& memory, Context context, std::size_t bytes)
        : memory_(memory), context_(context), bytes_(bytes) {}

    void all() {
        for (const unsigned flags : {0U, 1U, 2U, 3U, 4U, 7U}) block(flags);
        wrong_calls();
        in_captures();
        contexts();
        // Last, as nothing says what a driver does with it.
        name_ = "as the device's, ";
        void* block = nullptr;
        say("allocate", memory_.cuMemHostAlloc(&block, bytes_, 0));
        say("free", memory_.cuMemFree(at(block)));
    }

  private:
    void say(const std::string& what, Code code, long long value = 0) const {
        std::printf("%s%s: %d %lld\n", name_.c_str(), what.c_str(), code, value);
    }
    // A value that is an address in a block.
    long long from(const void* block, std::uint64_t address) const {
        return address == 0 ? -1 : static_cast<long long>(address - at(block));
    }

    void block(unsigned flags) {
        name_ = "flags " + std::to_string(flags) + ", ";
        void* block = nullptr;
        const Code code = memory_.cuMemHostAlloc(&block, bytes_, flags);
        say("allocate", code, block != nullptr);
        if (code != success) return;
        auto* const data = static_cast<std::byte*>(block);
        say("alignment", success, at(block) % 4096 == 0);
        const auto same = [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; i += 4096) {
                if (data[i] != std::byte{0}) return false;
            }
            return true;
        };
        say("zeroed", success, same(0, bytes_));
        for (const std::size_t offset : {std::size_t{0}, std::size_t{4097}, bytes_ - 1, bytes_})
            pointers(block, offset);
        for (const int attribute : {1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}) {
            std::uint64_t value[8] = {};
            const Code asked = call(memory_.cuPointerGetAttribute, static_cast<void*>(value), attribute, at(block));
            say("attribute " + std::to_string(attribute), asked, shown(attribute, block, value[0]));
        }
        const int sync = 1;
        say("set sync", call(memory_.cuPointerSetAttribute, static_cast<const void*>(&sync), 6, at(block)));
        char handle[64] = {};
        say("ipc", call(memory_.cuIpcGetMemHandle, static_cast<void*>(handle), at(block)));
        unsigned long long retained = 0;
        say("handle", call(memory_.cuMemRetainAllocationHandle, &retained, block));
        say("register", memory_.cuMemHostRegister(block, bytes_, 0));
        say("register a part", memory_.cuMemHostRegister(data + 4096, 4096, 0));
        say("unregister", memory_.cuMemHostUnregister(block));
        say("unregister inside", memory_.cuMemHostUnregister(data + 4096));
        say("free inside", memory_.cuMemFreeHost(data + 4096));
        mapping(block);
        copies(data);
        say("free", memory_.cuMemFreeHost(block));
        say("free again", memory_.cuMemFreeHost(block));
        pointers(block, 0);
    }
    // Contexts and numbers are not the same in each run.
    long long shown(int attribute, const void* block, std::uint64_t value) const {
        constexpr int context = 1, device_pointer = 3, host_pointer = 4, buffer = 7, begin = 11, physical = 20;
        if (attribute == context) return value == at(context_) ? 1 : value == 0 ? 0 : 2;
        if (attribute == buffer || attribute == physical) return value != 0;
        const bool is_address = attribute == device_pointer || attribute == host_pointer || attribute == begin;
        return is_address ? from(block, value) : static_cast<long long>(value);
    }
    void pointers(void* block, std::size_t offset) const {
        auto* const byte = static_cast<std::byte*>(block) + offset;
        const std::string where = " at " + std::to_string(offset == bytes_ ? 1 : offset == bytes_ - 1 ? 2 : offset);
        DevicePointer device = 0;
        say("device pointer" + where, memory_.cuMemHostGetDevicePointer(&device, byte, 0), from(block, device));
        unsigned flags = 0;
        say("flags" + where, call(memory_.cuMemHostGetFlags, &flags, static_cast<void*>(byte)), flags);
        DevicePointer begin = 0;
        std::size_t size = 0;
        say("range" + where, memory_.cuMemGetAddressRange(&begin, &size, at(byte)), from(block, begin));
        say("range's size" + where, success, static_cast<long long>(size));
        unsigned type = 0;
        int which = 2;
        void* value = &type;
        say("type" + where, memory_.cuPointerGetAttributes(1U, &which, &value, at(byte)), type);
    }
    // Who shares it, and whether a child has it.
    void mapping(const void* block) const {
        std::ifstream file("/proc/self/smaps");
        bool is_here = false;
        for (std::string line; std::getline(file, line);) {
            unsigned long long first = 0, end = 0;
            char rights[5] = {};
            if (std::sscanf(line.c_str(), "%llx-%llx %4s", &first, &end, rights) == 3) {
                is_here = at(block) >= first && at(block) < end;
                if (is_here) std::printf("%smapping: %s\n", name_.c_str(), rights);
            }
            if (!is_here || line.rfind("VmFlags:", 0) != 0) continue;
            std::printf("%sno child has it: %d\n", name_.c_str(), line.find(" dc") != std::string::npos);
            return;
        }
    }
    void copies(std::byte* data) const {
        DevicePointer device = 0;
        say("device memory", memory_.cuMemAlloc(&device, bytes_));
        std::memset(data, 0x5A, bytes_);
        say("there", memory_.cuMemcpyHtoDAsync(device, data, bytes_, nullptr));
        say("waited", memory_.cuCtxSynchronize());
        std::memset(data, 0, bytes_);
        say("back", memory_.cuMemcpyDtoH(data, device, bytes_));
        say("right", success, data[0] == std::byte{0x5A} && data[bytes_ - 1] == std::byte{0x5A});
        say("beyond", memory_.cuMemcpyHtoD(device, data + bytes_ / 2, bytes_));
        say("device memory back", memory_.cuMemFree(device));
    }

    void wrong_calls() {
        name_ = "wrong, ";
        void* block = nullptr;
        say("no bytes", memory_.cuMemHostAlloc(&block, 0, 0), block != nullptr);
        say("too many", memory_.cuMemHostAlloc(&block, std::size_t{1} << 60, 0), block != nullptr);
        say("older function", call(memory_.cuMemAllocHost, &block, bytes_), block != nullptr);
        if (block != nullptr) say("its free", memory_.cuMemFreeHost(block));
        std::byte here[64] = {};
        say("free of others'", memory_.cuMemFreeHost(here));
        say("without a context", memory_.cuCtxSetCurrent(nullptr));
        block = nullptr;
        const Code code = memory_.cuMemHostAlloc(&block, bytes_, 0);
        say("allocate", code, block != nullptr);
        say("the context again", memory_.cuCtxSetCurrent(context_));
        if (code == success) say("free", memory_.cuMemFreeHost(block));
    }
    // In each mode of the capture.
    void in_captures() {
        for (int mode = 0; mode < 3; ++mode) {
            name_ = "capture " + std::to_string(mode) + ", ";
            Stream stream = nullptr;
            expect(memory_.cuStreamCreate(&stream, stream_non_blocking) == success);
            void *kept = nullptr, *block = nullptr;
            expect(memory_.cuMemHostAlloc(&kept, bytes_, 0) == success);
            say("begin", memory_.cuStreamBeginCapture(stream, mode));
            const Code code = memory_.cuMemHostAlloc(&block, bytes_, 0);
            say("allocate", code);
            const Code freed = memory_.cuMemFreeHost(kept);
            say("free", freed);
            Graph graph = nullptr;
            say("end", memory_.cuStreamEndCapture(stream, &graph), graph != nullptr);
            if (code == success) say("free what it got", memory_.cuMemFreeHost(block));
            if (freed != success) say("free what it kept", memory_.cuMemFreeHost(kept));
            expect(memory_.cuStreamDestroy(stream) == success);
        }
    }
    void contexts() {
        name_ = "other context, ";
        Context other = nullptr;
        void *block = nullptr, *portable = nullptr;
        expect(memory_.cuMemHostAlloc(&portable, bytes_, 1) == success);
        say("create", call(memory_.cuCtxCreate, &other, 0U, 0));
        say("allocate", memory_.cuMemHostAlloc(&block, bytes_, 0));
        pointers(portable, 0);
        say("destroy", memory_.cuCtxDestroy(other));
        say("current", memory_.cuCtxSetCurrent(context_));
        unsigned type = 0;
        say("type of what it had", call(memory_.cuPointerGetAttribute, static_cast<void*>(&type), 2, at(block)), type);
        say("free", memory_.cuMemFreeHost(portable));
        name_ = "reset, ";
        expect(memory_.cuMemHostAlloc(&block, bytes_, 0) == success);
        say("reset", driver->cuDevicePrimaryCtxReset(0));
        Context again = nullptr;
        say("retain", driver->cuDevicePrimaryCtxRetain(&again, 0));
        say("current", memory_.cuCtxSetCurrent(again));
        say("type of what it had", call(memory_.cuPointerGetAttribute, static_cast<void*>(&type), 2, at(block)), type);
        say("free of what it had", memory_.cuMemFreeHost(block));
        say("allocate", memory_.cuMemHostAlloc(&block, bytes_, 0));
        say("free", memory_.cuMemFreeHost(block));
    }

    const Memory& memory_;
    Context context_;
    std::size_t bytes_;
    std::string name_;
};
