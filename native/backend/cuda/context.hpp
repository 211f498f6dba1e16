// The driver, and a device's primary context, which every handle of the CUDA backend keeps alive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/device.hpp"
#include "driver/cuda_door.hpp"
#include "driver/nvml_api.hpp"

namespace isthmus::cuda {

// Opened once a process and never closed.
struct Driver {
    Api api;
    std::optional<nvml::Api> nvml;  // absent on Jetson, in some containers, or when it does not start

    // Fails with library_absent, or with what cuInit said.
    static Result<const Driver*> get();
};

// Holds a reference to the primary context, the one that the runtime API and all libraries on it use too.
class PrimaryContext {
  public:
    static Result<std::shared_ptr<PrimaryContext>> retain(const Driver& driver, Device device);
    ~PrimaryContext();
    PrimaryContext(const PrimaryContext&) = delete;
    PrimaryContext& operator=(const PrimaryContext&) = delete;

    // From now on the context lives as long as others have it.
    Status give_reference_back();

    const Api& api() const { return driver_.api; }
    Context get() const { return context_; }
    // As Device::bind_thread.
    Status make_current() const;
    // As Device::enter and leave, through the door into the driver. Fails in the child of a fork, and when the context
    // that all handles belong to is not the device's any more (cudaDeviceReset); from then on each time, so that what
    // was made in it is neither used nor given back.
    Result<Before> enter() const;
    void leave(Before before) const noexcept;
    // Whether both are the primary context of one device.
    bool same(const PrimaryContext& other) const { return context_ == other.context_; }
    Result<int> attribute(int attribute) const;
    // Whether kernels reach ordinary memory of the system (HMM, ATS).
    bool reaches_pageable() const { return reaches_pageable_; }
    // Of the driver's 2-D and 3-D copies.
    std::size_t most_pitch_bytes() const { return most_pitch_bytes_; }
    // Load the device code on first use; the driver compiles it then. spin is isthmus_spin.
    Result<Kernel> kernel(KernelId kernel);
    Result<Kernel> spin();
    bool has_kernels();
    // Precondition: the context is current.
    Status load_kernels();

    // A stream-ordered pool with the stream that orders it.
    struct Pool {
        MemoryPool pool = nullptr;
        Stream stream = nullptr;
    };
    // One that keeps what it was given back, or one that does not; made on first use. Not the device's own pool, whose
    // settings and contents belong to the program.
    Result<Pool> pool(bool keeps);

    // Copies to the memory of another device; straight where the devices can reach each other, else through the host.
    // Precondition: the context of the stream, which is one of the two, is current.
    Status copy_to_peer(PrimaryContext& other, DevicePointer to, DevicePointer from, std::size_t bytes, Stream stream);

    // Why kernels of this device do not reach the other's memory; nothing when they can.
    std::optional<std::string> why_no_reach(const PrimaryContext& other) const;
    // Lets them, the first time. Precondition: this context is current.
    Status let_kernels_reach(const PrimaryContext& other);

  private:
    PrimaryContext(const Driver& driver, Device device, Context context)
        : driver_(driver), device_(device), context_(context) {}
    const Driver& driver_;
    Device device_;
    Context context_;
    std::optional<unsigned long long> id_;  // no other context of the process has it; none before CUDA 12.0
    mutable std::atomic<bool> is_lost_ = false;
    bool has_reference_ = true;
    // Precondition: the context is current, as far as its handle says.
    Status check_alive() const;
    Status failed(const char* function, ReturnCode code) const;
    Status lost() const;
    Result<Pool> create_pool(bool keeps);
    struct Kernels {
        std::vector<Kernel> rows;  // by KernelId
        Kernel spin = nullptr;
    };
    Result<const Kernels*> kernels();
    void connect(PrimaryContext& other);
    void reach(const PrimaryContext& other) const;
    bool reaches_pageable_ = false;
    std::size_t most_pitch_bytes_ = SIZE_MAX;
    std::mutex mutex_;  // guards all below
    Module module_ = nullptr;
    std::optional<Kernels> kernels_;
    std::array<Pool, 2> pools_;
    std::set<Context> connected_;  // for copies
    std::set<Context> reached_;    // by kernels
};

// Makes a context current for the calling thread, which may be another library's, and afterwards what was current
// before.
class Current {
  public:
    explicit Current(const PrimaryContext& context) : context_(context), previous_(context.enter()) {}
    ~Current() {
        if (ok()) context_.leave(previous_.value());
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    bool ok() const { return previous_.ok(); }
    Status status() { return ok() ? Status() : previous_.take_status(); }

  private:
    const PrimaryContext& context_;
    Result<Before> previous_;
};

}  // namespace isthmus::cuda
