// What is asked of the driver while a program's own call is under way: about the thread's context and about streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "driver/cuda_door.hpp"

namespace isthmus::cuda {

// All functions may be called from any thread, inside the door or not.
class Program {
  public:
    // Opens the driver's library and initialises nothing: what comes of calls before cuInit is the program's matter.
    static Result<Program> open();

    const Api& api() const { return api_; }

    struct CurrentContext {
        Context context = nullptr;
        unsigned long long id = 0;  // no other context of the process has it; 0 before CUDA 12.0
    };
    // That of the calling thread; nothing where it has none that works.
    Result<std::optional<CurrentContext>> current_context() const;
    // The device whose primary context this is.
    std::optional<int> device_of(Context context) const;
    bool has_primary_context(int index) const;
    // Nothing where the device has none, which this does not make.
    std::optional<std::uintptr_t> primary_context(int index) const;
    // The most that the device's copies of rows take; 0 where it does not say.
    int most_pitch_bytes(int index) const;
    // Whether the driver knows the memory there. True where it cannot say.
    bool knows(std::uintptr_t address) const;

    // Streams are handles as Device::borrow_stream takes them, of the current context.
    enum class StreamState {
        idle,      // a copy that is put there now comes behind nothing
        busy,      // or is not known to be idle
        captured,  // or cannot be used while another is captured
    };
    StreamState state_of(std::uintptr_t stream) const;
    // The context that a stream of the program's making is of. Precondition: it is not captured.
    std::optional<std::uintptr_t> context_of(std::uintptr_t stream) const;
    // Whether no stream of the calling thread's context has work; also where drivers before CUDA 12.5
    // cannot say. Precondition: nothing is captured, on any thread: the driver would end that.
    bool is_context_idle() const;
    // Returns when all has ended that a copy put there now would come behind. Precondition: it is not captured.
    Status wait_behind(std::uintptr_t stream) const;
    // The driver's own copy between the host and the device, on a stream.
    Status copy(bool to_device, std::uintptr_t to, std::uintptr_t from, std::size_t bytes, std::uintptr_t stream) const;
    // From the device's memory to pageable memory, and waits for it.
    Status read(std::byte* to, std::uintptr_t from, std::size_t bytes) const;

  private:
    explicit Program(const Api& api) : api_(api) {}
    bool is_captured(Stream stream) const;
    bool is_idle(Stream stream) const;
    // Whether copies on it come behind the legacy stream's work, too.
    bool follows_legacy(Stream stream) const;

    Api api_;
};

}  // namespace isthmus::cuda
