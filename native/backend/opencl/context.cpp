// An OpenCL context with its program.
#include "backend/opencl/context.hpp"

#include <vector>

#include "kernels/kernels.hpp"

namespace isthmus::opencl {

Result<std::shared_ptr<SharedContext>> SharedContext::create(const Entry& entry) {
    ISTHMUS_TRY(entry.api.complete());
    std::shared_ptr<SharedContext> shared(new SharedContext(entry));
    const Api& cl = shared->api();
    ReturnCode code = success;
    shared->context_ = cl.clCreateContext(nullptr, 1, &entry.device, nullptr, nullptr, &code);
    ISTHMUS_TRY(Api::check("clCreateContext", code));
    ISTHMUS_TRY_ASSIGN(queue, shared->create_queue());
    shared->service_queue_ = queue;
    ISTHMUS_TRY(shared->build());
    return shared;
}

SharedContext::~SharedContext() {
    const Api& cl = api();
    if (program_ != nullptr) (void)cl.call(cl.clReleaseProgram, program_);
    if (service_queue_ != nullptr) (void)cl.call(cl.clReleaseCommandQueue, service_queue_);
    if (context_ != nullptr) (void)cl.call(cl.clReleaseContext, context_);
}

Status SharedContext::build() {
    const Api& cl = api();
    ReturnCode code = success;
    const char* source = kernels_opencl;
    program_ = cl.clCreateProgramWithSource(context_, 1, &source, nullptr, &code);
    ISTHMUS_TRY(Api::check("clCreateProgramWithSource", code));
    Status status = cl.call(cl.clBuildProgram, program_, 1U, &entry_.device,
                            entry_.is_cpu ? "-cl-std=CL1.2 -DISTHMUS_SLICED" : "-cl-std=CL1.2", ProgramNotify{nullptr},
                            static_cast<void*>(nullptr));
    if (status.ok()) return status;
    std::vector<char> log(1 << 16);
    (void)cl.call(cl.clGetProgramBuildInfo, program_, entry_.device, program_build_log, log.size() - 1,
                  static_cast<void*>(log.data()), static_cast<std::size_t*>(nullptr));
    return {status.code(), status.message() + "; the compiler of " + entry_.info.name + " says: " + log.data()};
}

Result<Queue> SharedContext::create_queue() const {
    ReturnCode code = success;
    Queue queue = api().clCreateCommandQueue(context_, entry_.device, queue_profiling_enable, &code);
    ISTHMUS_TRY(Api::check("clCreateCommandQueue", code));
    return queue;
}

Result<Kernel> SharedContext::create_kernel(const char* name) const {
    ReturnCode code = success;
    Kernel kernel = api().clCreateKernel(program_, name, &code);
    ISTHMUS_TRY(Api::check("clCreateKernel", code));
    return kernel;
}

}  // namespace isthmus::opencl
