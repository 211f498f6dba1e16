"""Measures copies that run while kernels compute."""
