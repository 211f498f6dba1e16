"""What batching and strided share: ways to move pieces, and which is best where."""
