"""For programs of JAX: arrays between NumPy and GPUs at the rate of the link. The only part that imports JAX."""

from isthmus.jax.arrays import device_get, device_put

__all__ = ["device_get", "device_put"]
