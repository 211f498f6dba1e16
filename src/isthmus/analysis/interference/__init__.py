"""What copies cost what runs beside them: a kernel that computes, kernels that read memory, a thread of the host."""
