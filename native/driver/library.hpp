// A vendor library opened at run time, and functions in it that know their name and the version that brought them.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"

namespace isthmus {

// Closed never: drivers start threads and register exit handlers that must find their code.
class Library {
  public:
    // Opens the first of `names` that the loader finds. Fails with library_absent, naming all that was tried.
    static Result<Library> open(std::span<const std::string> names);
    static Result<Library> open(std::initializer_list<std::string> names) {
        return open(std::span(names.begin(), names.size()));
    }
    // The first of `names` that is in the process already, whoever opened it.
    static std::optional<Library> open_loaded(std::span<const std::string> names);

    const std::string& name() const { return name_; }
    void* symbol(const char* symbol) const;

  private:
    Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
    void* handle_;
    std::string name_;
};

template <typename Signature>
struct Function;

// A function of a vendor library. Null when the library is too old; `since` is the first version that has it, in the
// vendor's own words.
template <typename R, typename... Parameters>
struct Function<R(Parameters...)> {
    using Pointer = R (*)(Parameters...);
    const char* name = "";
    const char* since = "";
    Pointer pointer = nullptr;

    explicit operator bool() const { return pointer != nullptr; }
    R operator()(Parameters... arguments) const { return pointer(arguments...); }
    Status absent() const {
        return {Code::function_absent, std::string(name) + " is absent: the driver is too old; it needs " + since};
    }
};

}  // namespace isthmus
