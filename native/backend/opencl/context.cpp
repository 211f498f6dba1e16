// An OpenCL context with its program.
#include "backend/opencl/context.hpp"

#include <utility>
#include <vector>

#include "backend/opencl/query.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::opencl {

// One context a device, for as long as anybody uses it: OpenCL's memory and queues belong to a context, so that arrays
// of one session are nothing to a session with another.
Result<std::shared_ptr<SharedContext>> SharedContext::of(const Entry& entry) {
    struct Opened {
        std::mutex mutex;
        std::map<std::pair<Platform, Device>, std::weak_ptr<SharedContext>> contexts;
    };
    static auto* const opened = new Opened;  // never freed: devices may be closed until the very end
    ISTHMUS_TRY(usable());
    const std::lock_guard lock(opened->mutex);
    std::weak_ptr<SharedContext>& known = opened->contexts[{entry.platform, entry.device}];
    if (auto context = known.lock()) return context;
    ISTHMUS_TRY_ASSIGN(made, create(entry));
    known = made;
    return std::move(made);
}

Result<std::shared_ptr<SharedContext>> SharedContext::create(const Entry& entry) {
    ISTHMUS_TRY(entry.api.complete());
    std::shared_ptr<SharedContext> shared(new SharedContext(entry, Owner::this_object));
    const Api& cl = shared->api();
    ISTHMUS_TRY(assign(shared->context_, cl.make(cl.clCreateContext, nullptr, 1U, &entry.device, nullptr, nullptr)));
    ISTHMUS_TRY(assign(shared->service_queue_, shared->create_queue()));
    ISTHMUS_TRY(shared->build());
    return shared;
}

// Queues and buffers hold their context by themselves.
Result<std::shared_ptr<SharedContext>> SharedContext::in(const Entry& entry, Context context) {
    ISTHMUS_TRY(usable());
    ISTHMUS_TRY(entry.api.complete());
    std::shared_ptr<SharedContext> shared(new SharedContext(entry, Owner::caller));
    shared->context_ = context;
    ISTHMUS_TRY(assign(shared->service_queue_, shared->create_queue()));
    return shared;
}

SharedContext::~SharedContext() {
    const Api& cl = api();
    if (program_ != nullptr) (void)cl.call(cl.clReleaseProgram, program_);
    if (service_queue_ != nullptr) (void)cl.call(cl.clReleaseCommandQueue, service_queue_);
    if (context_ != nullptr && owner_ == Owner::this_object) (void)cl.call(cl.clReleaseContext, context_);
}

Status SharedContext::build() {
    const Api& cl = api();
    const char* source = kernels_opencl;
    ISTHMUS_TRY(assign(program_, cl.make(cl.clCreateProgramWithSource, context_, 1U, &source, nullptr)));
    Status status = cl.call(cl.clBuildProgram, program_, 1U, &entry_.device,
                            entry_.is_cpu ? "-cl-std=CL1.2 -DISTHMUS_SLICED" : "-cl-std=CL1.2", ProgramNotify{nullptr},
                            static_cast<void*>(nullptr));
    if (status.ok()) return status;
    std::vector<char> log(1 << 16);
    (void)cl.call(cl.clGetProgramBuildInfo, program_, entry_.device, program_build_log, log.size() - 1,
                  static_cast<void*>(log.data()), static_cast<std::size_t*>(nullptr));
    return {status.code(), status.message() + "; the compiler of " + entry_.info.name + " says: " + log.data()};
}

// Loaders find a driver's functions in a table whose address each of its objects begins with, the same in all of them
// (cl_khr_icd): they would call at whatever is there.
Status SharedContext::check_object(const void* object, const char* type) const {
    ISTHMUS_TRY(opencl::check_object(object, type));
    const auto first_word = [](const void* at) { return *static_cast<void* const*>(at); };
    if (!entry_.has_tables || first_word(object) == first_word(service_queue_)) return {};
    return invalid("not a " + std::string(type) + ": what lies there is no object of the driver of " +
                   entry_.info.name + "; pass the handle itself, while the program holds it");
}

Result<Queue> SharedContext::create_queue() const {
    return api().make(api().clCreateCommandQueue, context_, entry_.device, queue_profiling_enable);
}

Result<Kernel> SharedContext::create_kernel(const char* name) const {
    if (!has_kernels()) return unsupported("kernels are built in contexts of Isthmus' own alone");
    return api().make(api().clCreateKernel, program_, name);
}

}  // namespace isthmus::opencl
