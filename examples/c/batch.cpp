// Gathers scattered pieces of a C++ program's memory to the device and scatters them back: batch cuda:0, or batch host
#include <isthmus.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// All that a C++ program needs around the C interface: an owner, and exceptions.
class Session {
  public:
    explicit Session(const char* device) { call(isthmus_open, device, nullptr, &handle_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { isthmus_close(handle_, nullptr); }

    void copy_batch(const std::vector<void*>& destinations, const std::vector<const void*>& sources,
                    const std::vector<std::size_t>& bytes, isthmus_direction direction, void* stream = nullptr) {
        call(isthmus_copy_batch, handle_, bytes.size(), destinations.data(), sources.data(), bytes.data(), direction,
             stream);
    }
    std::shared_ptr<std::byte> allocate(std::size_t bytes) {
        void* memory = nullptr;
        call(isthmus_allocate, handle_, ISTHMUS_DEVICE, bytes, &memory);
        return {static_cast<std::byte*>(memory), [this](void* last) { isthmus_free(handle_, last, nullptr); }};
    }

  private:
    template <typename Function, typename... Arguments>
    static void call(Function* function, Arguments... arguments) {
        isthmus_status status;
        if (function(arguments..., &status) == ISTHMUS_OK) return;
        throw std::runtime_error(std::string(status.operation) + ": " + status.message);
    }
    isthmus_session* handle_ = nullptr;
};

int main(int count, char** words) try {
    constexpr std::size_t pieces = 4096, piece_bytes = 4096;
    if (count != 2) throw std::invalid_argument("usage: batch DEVICE, one whose memory has addresses: cuda:0 or host");
    // A piece of an OpenCL buffer has no address that a batch could name; `copy` shows what goes there.
    if (std::string_view(words[1]).starts_with("opencl")) {
        throw std::invalid_argument(std::string(words[1]) +
                                    ": OpenCL's buffers have no addresses for pieces of them; "
                                    "give a device whose memory has some, cuda:0 or host");
    }
    Session session(words[1]);
    const std::shared_ptr<std::byte> device = session.allocate(2 * pieces * piece_bytes);

    // Rows that a program has wherever it has them; on the device every other place is theirs.
    std::vector<std::vector<unsigned char>> rows, returned;
    std::vector<void*> places, back;
    std::vector<const void*> from_host, from_device;
    for (std::size_t i = 0; i < pieces; ++i) {
        rows.emplace_back(piece_bytes, static_cast<unsigned char>(i * 7));
        returned.emplace_back(piece_bytes);
        places.push_back(device.get() + 2 * i * piece_bytes);
        from_host.push_back(rows.back().data());
        from_device.push_back(places.back());
        back.push_back(returned.back().data());
    }
    const std::vector<std::size_t> bytes(pieces, piece_bytes);
    session.copy_batch(places, from_host, bytes, ISTHMUS_H2D);
    session.copy_batch(back, from_device, bytes, ISTHMUS_D2H);

    const bool same = rows == returned;
    std::printf("%zu pieces came back %s\n", pieces, same ? "unchanged" : "CHANGED");
    return same ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
