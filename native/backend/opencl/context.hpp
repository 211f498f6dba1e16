// An OpenCL context with its program, which every handle of the backend keeps alive.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend/opencl/registry.hpp"

namespace isthmus::opencl {

class SharedContext {
  public:
    // The device's context, which all that open it share. Builds the device code where it is the first.
    static Result<std::shared_ptr<SharedContext>> of(const Entry& entry);
    // A context that somebody else made, which lives as long as what is made in it here: for copies, without kernels.
    static Result<std::shared_ptr<SharedContext>> in(const Entry& entry, Context context);
    ~SharedContext();
    SharedContext(const SharedContext&) = delete;
    SharedContext& operator=(const SharedContext&) = delete;

    const Api& api() const { return entry_.api; }
    const Entry& entry() const { return entry_; }
    Context get() const { return context_; }
    bool has_kernels() const { return program_ != nullptr; }
    // For maps and unmaps, which belong to no caller's stream.
    Queue service_queue() const { return service_queue_; }
    // Held while shared virtual memory is allocated or given back: NVIDIA's driver (seen with 580.159) fails when two
    // threads ask at once, although OpenCL promises that they may.
    std::mutex& svm_mutex() { return svm_mutex_; }
    // The first address of each block of it, and the one behind its last: OpenCL cannot be asked. Guarded by
    // svm_mutex().
    std::map<std::uintptr_t, std::uintptr_t>& svm_ranges() { return svm_ranges_; }
    // Fails with invalid_argument for what cannot be an object of this driver, which would not survive to be asked.
    Status check_object(const void* object, const char* type) const;
    Result<Queue> create_queue() const;
    Result<Kernel> create_kernel(const char* name) const;

  private:
    enum class Owner { this_object, caller };
    SharedContext(const Entry& entry, Owner owner) : entry_(entry), owner_(owner) {}
    static Result<std::shared_ptr<SharedContext>> create(const Entry& entry);
    Status build();

    Entry entry_;
    Owner owner_;
    Context context_ = nullptr;
    Queue service_queue_ = nullptr;
    Program program_ = nullptr;
    std::mutex svm_mutex_;
    std::map<std::uintptr_t, std::uintptr_t> svm_ranges_;
};

}  // namespace isthmus::opencl
