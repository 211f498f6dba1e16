// Shows where the calling thread is to Python, which calls this from C.
#include <cstring>

#include "tracer/python_frames.hpp"

using isthmus::tracer::PythonFrames;

// The frames, one a line; the version in parentheses where they cannot be read.
extern "C" int show_frames(char* text, int bytes) {
    std::string version;
    const auto frames = PythonFrames::find(version);
    std::string found;
    if (frames) {
        PythonFrames::Places places;
        const std::size_t count = frames->places(places);
        for (std::size_t index = 0; index < count; ++index) found += frames->describe(places[index]) + "\n";
    } else {
        found = "(" + version + ")";
    }
    std::strncpy(text, found.c_str(), static_cast<std::size_t>(bytes) - 1);
    return static_cast<int>(found.size());
}
