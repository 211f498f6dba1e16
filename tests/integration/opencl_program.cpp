// A program that moves data by OpenCL in every way that is traced, and looks whether it arrived.
//
// opencl_program ENDING COPIES: each of two threads writes so many pieces of 64 bytes and more, every other one without
// waiting; then one thread does everything else once. ENDING is how the program ends then: exit, _exit, kill, fork,
// exec, or busy, without waiting for a last copy.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "driver/opencl_api.hpp"

using namespace isthmus::opencl;

extern "C" {
ReturnCode clGetPlatformIDs(std::uint32_t, Platform*, std::uint32_t*);
#define DECLARE(function, place, since, result, parameters) __attribute__((weak)) result function parameters;
ISTHMUS_OPENCL_FUNCTIONS(DECLARE)
}

namespace {

void expect(bool right, const char* what) {
    if (right) return;
    std::printf("wrong: %s\n", what);
    std::exit(1);
}

struct Machine {
    Device device = nullptr;
    Context context = nullptr;

    Machine() {
        Platform platform = nullptr;
        clGetPlatformIDs(1, &platform, nullptr);
        clGetDeviceIDs(platform, device_type_all, 1, &device, nullptr);
        context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    }
};

void write_pieces(const Machine& machine, int copies) {
    Queue queue = clCreateCommandQueue(machine.context, machine.device, 0, nullptr);
    Buffer buffer = clCreateBuffer(machine.context, mem_read_write, 1 << 20, nullptr, nullptr);
    std::vector<char> host(1 << 20, 'x');
    for (int index = 0; index < copies; ++index) {
        const auto bytes = static_cast<std::size_t>(64 + index);
        clEnqueueWriteBuffer(queue, buffer, index % 2 == 0 ? 1 : 0, 0, bytes, host.data(), 0, nullptr, nullptr);
    }
    clFinish(queue);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
}

void use_buffers(Queue queue, const Machine& machine) {
    std::vector<char> host(4096, 'a'), back(4096, 'b');
    Buffer first = clCreateBuffer(machine.context, mem_read_write, 4096, nullptr, nullptr);
    Buffer second = clCreateBuffer(machine.context, mem_read_write, 8192, nullptr, nullptr);
    const BufferRegion region{1024, 2048};
    Buffer part = clCreateSubBuffer(second, mem_read_write, buffer_create_type_region, &region, nullptr);
    Event event = nullptr;
    expect(clEnqueueWriteBuffer(queue, first, 0, 0, 4096, host.data(), 0, nullptr, &event) == success, "write");
    clEnqueueCopyBuffer(queue, first, part, 0, 0, 2048, 1, &event, nullptr);
    clReleaseEvent(event);
    clEnqueueReadBuffer(queue, second, 0, 1024, 2048, back.data(), 0, nullptr, &event);
    expect(clWaitForEvents(1, &event) == success, "wait");
    clReleaseEvent(event);
    expect(back[2047] == 'a' && back[2048] == 'b', "what was read");
    const char zero = 0;
    clEnqueueFillBuffer(queue, second, &zero, 1, 0, 8192, 0, nullptr, nullptr);
    // 3 rows of 16 bytes, 64 apart on the device and 32 on the host.
    const std::size_t to[3] = {8, 1, 0}, from[3] = {4, 2, 0}, size[3] = {16, 3, 1};
    clEnqueueWriteBufferRect(queue, second, 1, to, from, size, 64, 0, 32, 0, host.data(), 0, nullptr, nullptr);
    clEnqueueReadBuffer(queue, second, 1, 0, 4096, back.data(), 0, nullptr, nullptr);
    expect(back[71] == 0 && back[72] == 'a' && back[87] == 'a' && back[88] == 0 && back[136] == 'a', "rows");
    expect(clEnqueueWriteBuffer(queue, first, 1, 4096, 1, host.data(), 0, nullptr, nullptr) != success, "a bad write");
    for (Buffer buffer : {part, second, first}) clReleaseMemObject(buffer);
}

void use_mapped_memory(Queue queue, const Machine& machine) {
    Buffer pinned = clCreateBuffer(machine.context, mem_read_write | mem_alloc_host_ptr, 4096, nullptr, nullptr);
    Buffer device = clCreateBuffer(machine.context, mem_read_write, 4096, nullptr, nullptr);
    ReturnCode code = -1;
    auto* memory = static_cast<char*>(
        clEnqueueMapBuffer(queue, pinned, 1, map_write_invalidate_region, 0, 4096, 0, nullptr, nullptr, &code));
    expect(code == success && memory != nullptr, "map");
    std::memset(memory, 'p', 4096);
    clEnqueueWriteBuffer(queue, device, 1, 0, 1000, memory + 96, 0, nullptr, nullptr);
    clEnqueueUnmapMemObject(queue, pinned, memory, 0, nullptr, nullptr);
    memory = static_cast<char*>(clEnqueueMapBuffer(queue, device, 1, map_read, 500, 500, 0, nullptr, nullptr, &code));
    expect(memory[0] == 'p' && memory[499] == 'p', "what was mapped");
    clEnqueueUnmapMemObject(queue, device, memory, 0, nullptr, nullptr);
    clFinish(queue);
    for (Buffer buffer : {pinned, device}) clReleaseMemObject(buffer);
}

void use_shared_memory(Queue queue, const Machine& machine) {
    std::vector<char> host(600, 's');
    void* shared = clSVMAlloc(machine.context, mem_read_write, 4096, 0);
    clEnqueueSVMMemcpy(queue, 1, shared, host.data(), 600, 0, nullptr, nullptr);
    clEnqueueSVMMap(queue, 1, map_read | map_write, shared, 700, 0, nullptr, nullptr);
    expect(static_cast<char*>(shared)[599] == 's', "shared memory");
    clEnqueueSVMUnmap(queue, shared, 0, nullptr, nullptr);
    clFinish(queue);
    clSVMFree(machine.context, shared);
}

void use_kernel(Queue queue, const Machine& machine) {
    const char* source = "__kernel void triple(__global int* x) { x[get_global_id(0)] *= 3; }";
    Program program = nullptr;
    // The fake one compiles nothing.
    if (clCreateProgramWithSource != nullptr) {
        program = clCreateProgramWithSource(machine.context, 1, &source, nullptr, nullptr);
        expect(clBuildProgram(program, 1, &machine.device, "", nullptr, nullptr) == success, "build");
    }
    Kernel kernel = clCreateKernel(program, "triple", nullptr);
    Buffer buffer = clCreateBuffer(machine.context, mem_read_write, 4096, nullptr, nullptr);
    if (clSetKernelArg != nullptr) clSetKernelArg(kernel, 0, sizeof buffer, static_cast<const void*>(&buffer));
    const std::size_t items = 1024;
    expect(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr) == success,
           "launch");
    clFinish(queue);
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
}

void use_image(Queue queue, const Machine& machine) {
    const std::vector<float> pixels(64);
    const ImageFormat format{channel_r, channel_float};
    ImageDescriptor descriptor{};
    descriptor.type = mem_object_image_2d;
    descriptor.width = 8;
    descriptor.height = 8;
    Buffer image = clCreateImage(machine.context, mem_read_write, &format, &descriptor, nullptr, nullptr);
    const std::size_t origin[3] = {0, 0, 0}, region[3] = {8, 4, 1};
    clEnqueueWriteImage(queue, image, 1, origin, region, 0, 0, pixels.data(), 0, nullptr, nullptr);
    clReleaseMemObject(image);
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const std::string ending = words[1];
    const int copies = std::atoi(words[2]);
    const Machine machine;
    std::thread other([&] { write_pieces(machine, copies); });
    write_pieces(machine, copies);
    other.join();
    const std::uint64_t properties[] = {queue_properties, queue_out_of_order_exec_mode_enable, 0};
    Queue queue = clCreateCommandQueueWithProperties(machine.context, machine.device, properties, nullptr);
    use_buffers(queue, machine);
    use_mapped_memory(queue, machine);
    use_shared_memory(queue, machine);
    use_kernel(queue, machine);
    use_image(queue, machine);
    static std::vector<char> host(100);
    Buffer buffer = clCreateBuffer(machine.context, mem_read_write, 100, nullptr, nullptr);
    clEnqueueWriteBuffer(queue, buffer, 0, 0, 100, host.data(), 0, nullptr, nullptr);
    std::puts("worked");
    std::fflush(stdout);
    if (ending == "_exit") _exit(5);
    if (ending == "kill") kill(getpid(), SIGKILL);
    if (ending == "busy") return 6;
    if (ending == "fork") {
        const pid_t child = fork();
        if (child == 0) {
            clEnqueueWriteBuffer(queue, buffer, 1, 0, 100, host.data(), 0, nullptr, nullptr);
            std::exit(7);
        }
        int status = 0;
        waitpid(child, &status, 0);
        clFinish(queue);
        return WEXITSTATUS(status);
    }
    clFinish(queue);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(machine.context);
    if (ending == "exec") execl(words[0], words[0], "exit", words[2], static_cast<char*>(nullptr));
    return 4;
}
