// What a program found out, in lines: "PROGRAM.STEP name=value name=value".
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

// One line.
class Fact {
  public:
    Fact(std::uint64_t program, const std::string& step) : text_(std::to_string(program) + "." + step) {}
    Fact& add(const char* name, const std::string& value) {
        text_ += " " + std::string(name) + "=" + value;
        return *this;
    }
    Fact& add(const char* name, long value) { return add(name, std::to_string(value)); }
    Fact& add_hash(const char* name, std::uint64_t hash) {
        char text[24];
        std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
        return add(name, text);
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

// At once, so that the child of a fork has nothing of its parent's to write, and what ends the process loses none.
inline void write_line(const std::string& line) {
    const std::string whole = line + "\n";
    std::size_t written = 0;
    while (written < whole.size()) {
        const ssize_t count = write(1, whole.data() + written, whole.size() - written);
        if (count <= 0) return;
        written += static_cast<std::size_t>(count);
    }
}
