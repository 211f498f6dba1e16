"""Measures what copies cost others: a kernel that computes, kernels that read memory, a thread of the host."""
