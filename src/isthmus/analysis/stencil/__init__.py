"""A two-dimensional stencil over ranks: halo exchange by each kind of memory."""
