// The OpenCL that a program brought along.
#pragma once

namespace isthmus::opencl {

// A loader of OpenCL that is in the process already, wherever it came from: wheels of Python bring one of their own,
// often under a longer name, which only they see. Null where there is none. What dlopen returns, never to be closed.
void* loaded_loader();

}  // namespace isthmus::opencl
