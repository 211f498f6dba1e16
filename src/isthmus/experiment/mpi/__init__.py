"""The processes of a launcher and of MPI that measure together: which there are, and messages between them."""
