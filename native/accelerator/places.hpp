// Sessions of the library, by the context that a program copies in.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "accelerator/options.hpp"
#include "backend/cuda/program.hpp"
#include "transfer/session/session.hpp"

namespace isthmus::accelerator {

class Places {
  public:
    Places(const cuda::Program& program, const Options& options) : program_(program), options_(options) {}

    // That of the calling thread's current context. Null for a context that is not its device's primary one, which is
    // left to the program, and without any. Fails where no session can be opened, from then on each time.
    Result<std::shared_ptr<Session>> current();
    // Lets go of a session whose context went with all that was in it (cudaDeviceReset). It ends, its threads too, with
    // the last copy that has it, and calls no driver for that: a context that is there by now is another one.
    void forget(const std::shared_ptr<Session>& session);
    // Likewise of all whose device has no primary context any more.
    void forget_lost();

  private:
    struct Place {
        cuda::Context context = nullptr;
        unsigned long long number = 0;  // no other context of the process has it
        int device = -1;                // whose primary context it is
        std::shared_ptr<Session> session;
        Status failure;
    };
    Place made(cuda::Context context, unsigned long long number) const;
    template <typename Condition>
    void forget_if(const Condition& condition);

    const cuda::Program& program_;
    const Options& options_;
    std::mutex mutex_;  // guards what follows
    std::vector<Place> places_;
};

}  // namespace isthmus::accelerator
