// Where the table of a machine's device is kept, and how it is found.
#include "transfer/table/table_file.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/device_info.hpp"

namespace isthmus {
namespace {

// A table is some tens of KiB.
constexpr std::size_t most_file_bytes = std::size_t{4} << 20;
// File systems take 255 bytes for a name.
constexpr std::size_t most_name_bytes = 200;

std::string home() {
    if (const char* named = std::getenv("HOME"); named != nullptr) return named;
    std::vector<char> text(16384);
    passwd entry{};
    passwd* found = nullptr;
    if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr) return {};
    return entry.pw_dir;
}

// The same as the package's cache of runs (src/isthmus/record/cache.py): a relative path counts for nothing.
std::string cache_folder() {
    if (const char* named = std::getenv("XDG_CACHE_HOME"); named != nullptr && named[0] == '/') return named;
    const std::string folder = home();
    return folder.empty() ? std::string() : folder + "/.cache";
}

// Letters, digits, dots and dashes stay.
std::string file_name(std::string text) {
    text.resize(std::min(text.size(), most_name_bytes));
    const auto unsafe = [](char c) {
        return !(('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '.' || c == '-');
    };
    std::replace_if(text.begin(), text.end(), unsafe, '_');
    return text;
}

Status unreadable(const std::string& path, const std::string& why) {
    return {Code::invalid_argument, path + ": " + why};
}

bool is_there(const std::string& path) {
    struct stat found {};
    return !path.empty() && ::stat(path.c_str(), &found) == 0;
}

}  // namespace

std::string table_path(const DeviceInfo& device) {
    const std::string folder = cache_folder();
    if (folder.empty()) return {};
    const std::string& which = device.uuid.empty() ? device.name : device.uuid;
    return folder + "/isthmus/tables/" + file_name(device.backend + "-" + which + "-" + device.driver_version) +
           ".table";
}

Result<TransferTable> read_table(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return unreadable(path, std::strerror(errno));
    // A pipe would keep the caller waiting.
    if (!S_ISREG(found.st_mode)) return unreadable(path, "not a file; expected one that `isthmus calibrate` wrote");
    const auto bytes = static_cast<std::size_t>(found.st_size);
    if (bytes > most_file_bytes) {
        return unreadable(path, "more than 4 MiB; expected a table that `isthmus calibrate` wrote");
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
    if (!file) return unreadable(path, std::strerror(errno));
    std::string text(bytes, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) return unreadable(path, "the file cannot be read");
    auto table = TransferTable::parse(text);
    if (!table.ok()) return table.take_status().in(path);
    return table;
}

TransferTable table_for(const DeviceInfo& device) {
    TransferTable built_in = TransferTable::defaults(device.backend);
    const std::string path = table_path(device);
    if (!is_there(path)) return built_in;
    auto table = read_table(path);
    if (table.ok()) return std::move(table.value());
    built_in.origin += "; the machine's own cannot be used: " + table.take_status().message();
    return built_in;
}

}  // namespace isthmus
