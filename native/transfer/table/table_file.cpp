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

// The path that is there and absolute; empty otherwise, since a relative one counts for nothing.
std::string absolute(const char* path) {
    return path != nullptr && path[0] == '/' ? std::string(path) : std::string();
}

// Empty where there is none.
std::string home() {
    if (std::string named = absolute(std::getenv("HOME")); !named.empty()) return named;
    std::vector<char> text(16384);
    passwd entry{};
    passwd* user = nullptr;
    if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &user) != 0 || user == nullptr) return {};
    return absolute(entry.pw_dir);
}

// The package's cache (src/isthmus/cache.py), found by the same rules.
std::string cache_folder() {
    if (const std::string named = absolute(std::getenv("XDG_CACHE_HOME")); !named.empty()) return named + "/isthmus";
    const std::string folder = home();
    return folder.empty() ? std::string() : folder + "/.cache/isthmus";
}

// Why a file of the cache may be somebody else's, found out from the cache's folder inwards; empty where it is not.
std::string why_not_own(const std::vector<std::string>& folders) {
    const uid_t user = geteuid();
    for (const std::string& each : folders) {
        struct stat link {};
        struct stat status {};
        if (::lstat(each.c_str(), &link) != 0 || ::stat(each.c_str(), &status) != 0) return {};
        if (const uid_t owner = link.st_uid != user ? link.st_uid : status.st_uid; owner != user) {
            return each + ": it belongs to user " + std::to_string(owner) + "; expected user " + std::to_string(user) +
                   "'s own";
        }
        if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
            return each + ": others may write to it; calibrate again, or `chmod go-w` it if you know what is in it";
        }
        if ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};  // Others get no further.
    }
    return {};
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
    return invalid(path + ": " + why);
}

bool is_there(const std::string& path) {
    struct stat status {};
    return !path.empty() && ::stat(path.c_str(), &status) == 0;
}

}  // namespace

std::string table_path(const DeviceInfo& device) {
    const std::string folder = cache_folder();
    if (folder.empty()) return {};
    const std::string& which = device.uuid.empty() ? device.name : device.uuid;
    return folder + "/tables/" + file_name(device.backend + "-" + which + "-" + device.driver_version) + ".table";
}

Result<TransferTable> read_table(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return unreadable(path, std::strerror(errno));
    // A pipe would keep the caller waiting.
    if (!S_ISREG(status.st_mode)) return unreadable(path, "not a file; expected one that `isthmus calibrate` wrote");
    const auto bytes = static_cast<std::size_t>(status.st_size);
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
    TransferTable built_in = TransferTable::defaults(device.backend, device.name);
    const std::string path = table_path(device);
    if (!is_there(path)) return built_in;
    const auto without = [&](const std::string& why) {
        built_in.origin += "; the machine's own cannot be used: " + why;
        return built_in;
    };
    const std::string folder = cache_folder();
    if (const std::string why = why_not_own({folder, folder + "/tables", path}); !why.empty()) return without(why);
    auto table = read_table(path);
    return table.ok() ? std::move(table.value()) : without(table.take_status().message());
}

}  // namespace isthmus
