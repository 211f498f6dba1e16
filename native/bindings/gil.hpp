// The interpreter's lock, given up and taken by threads that may outlive the interpreter.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace isthmus::bindings {

// For whatever may wait for the lock: taking it, and calling Python. Once the interpreter has ended, Python before 3.14
// ends a thread that asks for the lock by unwinding its stack, as pthread_exit does. That must pass none of our
// destructors: they would go on without the lock, and std::terminate ends the process where one is reached, as in
// nanobind's guards. So such a thread, one of Python's daemon threads, sleeps until the process has ended, as Python
// 3.14 lets it.
template <typename Call>
decltype(auto) or_sleep(const Call& call) {
    try {
        return call();
    } catch (const abi::__forced_unwind&) {
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// Gives the lock up for as long as it lives. Precondition: the thread holds it.
class GilReleased {
  public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() {
        or_sleep([this] { PyEval_RestoreThread(state_); });
    }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

  private:
    PyThreadState* state_;
};

// Holds the lock for as long as it lives; the thread may hold it already.
class GilHeld {
  public:
    GilHeld() : state_(or_sleep([] { return PyGILState_Ensure(); })) {}
    ~GilHeld() { PyGILState_Release(state_); }
    GilHeld(const GilHeld&) = delete;
    GilHeld& operator=(const GilHeld&) = delete;

  private:
    PyGILState_STATE state_;
};

// What `call` gives, without the lock. Precondition: the thread holds it.
template <typename Call>
auto without_gil(const Call& call) {
    const GilReleased release;
    return call();
}

using ReleaseGil = nanobind::call_guard<GilReleased>;

}  // namespace isthmus::bindings
