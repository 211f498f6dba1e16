// Operands of copies that may end on threads that never touch the interpreter.
#pragma once

#include <memory>

namespace isthmus::bindings {

// What a copy keeps alive until it has ended.
class Kept {
  public:
    virtual ~Kept() = default;
};

// Lets go of what is kept where the interpreter is held: at once where `end_kept` is called, else soon, by Python's
// main thread. A thread of the core that took the interpreter's lock could wait for it forever while the interpreter
// ends.
std::shared_ptr<const void> keep_until_released(std::unique_ptr<Kept> kept);

// Destroys what has been let go of. Needs the interpreter.
void end_kept();

}  // namespace isthmus::bindings
