"""What batching and strided share: methods to move pieces, and which is best where."""
