"""Managed memory against explicit copies, and the unit in which pages migrate."""
