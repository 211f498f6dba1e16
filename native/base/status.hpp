// Success or a described failure; what every fallible function of the core returns.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace isthmus {

enum class Code {
    ok,
    library_absent,    // the vendor library could not be opened
    function_absent,   // the library is there, but too old for the function
    device_absent,     // no device with this name
    call_failed,       // a vendor or system call said no
    timed_out,         // what was begun has not ended, and may still be at work
    out_of_memory,     // host memory, device memory or the limit on locked memory
    unsupported,       // this device cannot do that; becomes a recorded skip
    invalid_argument,  // the caller's mistake
};

// One pointer wide and null on success, so that returning it costs nothing inside a timed region.
class [[nodiscard]] Status {
  public:
    Status() = default;
    // out_of_memory where there is no memory to say what failed.
    Status(Code code, std::string message) noexcept : failure_(made(code, std::move(message))) {}

    // out_of_memory, and takes none itself.
    static Status no_memory() noexcept {
        Status status;
        status.failure_.reset(shared());
        return status;
    }

    bool ok() const { return failure_ == nullptr; }
    Code code() const { return failure_ ? failure_->code : Code::ok; }
    Status copy() const noexcept {
        if (ok()) return {};
        try {
            return {code(), message()};
        } catch (...) {
            return no_memory();
        }
    }
    const std::string& message() const {
        static const std::string none;
        return failure_ ? failure_->message : none;
    }

    // Says what was being attempted: "1 GiB of pinned memory: cuMemHostAlloc failed: ...".
    Status in(const std::string& attempt) && {
        if (failure_ && failure_.get() != shared()) failure_->message = attempt + ": " + failure_->message;
        return std::move(*this);
    }

  private:
    struct Failure {
        Code code;
        std::string message;
    };
    // That of all who have no memory for one of their own.
    static Failure* shared() noexcept {
        static Failure failure{Code::out_of_memory, "no host memory"};  // short enough to lie within the string
        return &failure;
    }
    static Failure* made(Code code, std::string message) noexcept {
        Failure* const failure = new (std::nothrow) Failure{code, std::move(message)};
        return failure != nullptr ? failure : shared();
    }
    struct Ending {
        void operator()(Failure* failure) const noexcept {
            if (failure != shared()) delete failure;  // NOLINT(cppcoreguidelines-owning-memory)
        }
    };
    std::unique_ptr<Failure, Ending> failure_;
};

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : content_(std::move(value)) {}           // NOLINT(google-explicit-constructor): reads as a return
    Result(Status failure) : content_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

    bool ok() const { return std::holds_alternative<T>(content_); }
    T& value() { return std::get<T>(content_); }
    const T& value() const { return std::get<T>(content_); }
    // Precondition: !ok().
    Status take_status() { return std::move(std::get<Status>(content_)); }

  private:
    std::variant<Status, T> content_;
};

}  // namespace isthmus

// Leaves the enclosing function with the failure, if there is one.
#define ISTHMUS_TRY(expression)                                              \
    do {                                                                     \
        if (::isthmus::Status try_status = (expression); !try_status.ok()) { \
            return try_status;                                               \
        }                                                                    \
    } while (false)

// Declares `name` with the value of a Result, or leaves the enclosing function with its failure.
#define ISTHMUS_TRY_ASSIGN(name, expression)                     \
    auto name##_result = (expression);                           \
    if (!name##_result.ok()) return name##_result.take_status(); \
    auto& name = name##_result.value()
