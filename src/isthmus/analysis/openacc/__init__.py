"""Data directives against managed memory, in programs that a compiler built."""
