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
    // As no_memory(code) where there is no memory to say what failed.
    Status(Code code, std::string message) noexcept : failure_(made(code, std::move(message))) {}

    // out_of_memory, and takes none itself. A timeout stays one: what is still at work must not be used again, which
    // matters more than why nothing else can be said about it.
    static Status no_memory(Code code = Code::out_of_memory) noexcept {
        Status status;
        status.failure_.reset(shared(code));
        return status;
    }

    bool ok() const { return failure_ == nullptr; }
    Code code() const { return failure_ ? failure_->code : Code::ok; }
    Status copy() const noexcept {
        if (ok()) return {};
        try {
            return {code(), message()};
        } catch (...) {
            return no_memory(code());
        }
    }
    const std::string& message() const {
        static const std::string none;
        return failure_ ? failure_->message : none;
    }

    // Says what was being attempted: "1 GiB of pinned memory: cuMemHostAlloc failed: ...".
    Status in(const std::string& attempt) && {
        if (failure_ && !is_shared(failure_.get())) failure_->message = attempt + ": " + failure_->message;
        return std::move(*this);
    }

  private:
    struct Failure {
        Code code;
        std::string message;
    };
    // Those of all who have no memory for one of their own, with words short enough to lie within the string.
    static Failure* shared(Code code) noexcept {
        static Failure no_memory{Code::out_of_memory, "no host memory"};
        static Failure no_ending{Code::timed_out, "has not ended"};
        return code == Code::timed_out ? &no_ending : &no_memory;
    }
    static bool is_shared(const Failure* failure) noexcept {
        return failure == shared(Code::out_of_memory) || failure == shared(Code::timed_out);
    }
    static Failure* made(Code code, std::string message) noexcept {
        Failure* const failure = new (std::nothrow) Failure{code, std::move(message)};
        return failure != nullptr ? failure : shared(code);
    }
    struct Ending {
        void operator()(Failure* failure) const noexcept {
            if (!is_shared(failure)) delete failure;  // NOLINT(cppcoreguidelines-owning-memory)
        }
    };
    std::unique_ptr<Failure, Ending> failure_;
};

// The caller's mistake.
inline Status invalid(std::string what) {
    return {Code::invalid_argument, std::move(what)};
}

// What this device, driver or system cannot do.
inline Status unsupported(std::string what) {
    return {Code::unsupported, std::move(what)};
}

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

// Gives `place` the value, or says why there is none.
template <typename Place, typename T>
Status assign(Place& place, Result<T> result) {
    if (!result.ok()) return result.take_status();
    place = std::move(result.value());
    return {};
}

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
