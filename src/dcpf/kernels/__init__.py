"""Compiled loops on raw arrays. The only room that names numba; imports nothing of dcpf but itself."""
