"""Measures large copies over the links of neighbouring devices, too, and what that costs these devices."""
