"""What copies cost concurrent work: a kernel that computes, kernels that read memory, a thread of the host."""
