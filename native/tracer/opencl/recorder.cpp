// What is recorded of the OpenCL of the process that this library lives in.
#include "tracer/opencl/recorder.hpp"

#include <array>
#include <vector>

#include "tracer/opencl/originals.hpp"

namespace isthmus::tracer {

bool CommandRecorder::start() {
    interpose::guarded([] {
        const std::optional<Options> options = Options::from_environment();
        if (!options) return;
        Result<Part> part = Part::create(*options, monotonic_ns());
        if (part.ok()) {
            interpose::Only<CommandRecorder>::set(new CommandRecorder(std::move(part.value()), options->contents));
            interpose::Only<CommandRecorder>::follow_process();
        } else {
            leave_message(options->folder, part.take_status().message());
        }
    });
    return true;
}

CommandRecorder* CommandRecorder::current() noexcept {
    [[maybe_unused]] static const bool started = start();
    return interpose::Only<CommandRecorder>::get();
}

void CommandRecorder::finish() {
    interpose::guarded([this] {
        // What the drivers do meanwhile is not the program's.
        ThreadState::of_this_thread(file()).busy = true;
        collect(true);
        const std::lock_guard lock(mutex_);
        bool whole = true;
        for (const auto& [handle, queue] : queues_) whole = whole && queue->empty();
        file().finish(whole ? monotonic_ns() : 0);
    });
}

QueueDevice& CommandRecorder::device(opencl::Device device) {
    auto& known = devices_[device];
    if (known) return *known;
    known = std::make_unique<QueueDevice>(device);
    known->index = static_cast<std::uint32_t>(devices_.size() - 1);
    std::array<char, 256> name{};
    opencl::Bool unified = 0;
    if (const auto& info = originals().clGetDeviceInfo) {
        info(device, opencl::device_name, name.size() - 1, name.data(), nullptr);
        info(device, opencl::device_host_unified_memory, sizeof unified, &unified, nullptr);
    }
    known->unified = unified != 0;
    ThreadState::of_this_thread(file()).writer->write(
        trace::DeviceRecord{.index = known->index, .name = file().text(name.data())});
    return *known;
}

void CommandRecorder::add_queue(opencl::Queue queue) {
    opencl::Device device = nullptr;
    const auto& info = originals().clGetCommandQueueInfo;
    if (info) info(queue, opencl::queue_device, sizeof device, static_cast<void*>(&device), nullptr);
    const std::lock_guard lock(mutex_);
    queues_.insert_or_assign(queue, std::make_shared<CommandQueue>(next_stream_++, this->device(device)));
}

std::shared_ptr<CommandQueue> CommandRecorder::queue(opencl::Queue queue) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = queues_.find(queue); found != queues_.end()) return found->second;
    }
    add_queue(queue);
    return this->queue(queue);
}

void CommandRecorder::remove_queue(opencl::Queue queue) {
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(queue);
    // Our events keep one with commands alive.
    if (found != queues_.end() && found->second->empty()) queues_.erase(found);
}

void CommandRecorder::collect(bool whole) {
    std::vector<std::shared_ptr<CommandQueue>> all;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [handle, queue] : queues_) all.push_back(queue);
    }
    trace::Writer& writer = *ThreadState::of_this_thread(file()).writer;
    for (const auto& queue : all) queue->collect(file(), writer, whole);
}

}  // namespace isthmus::tracer
