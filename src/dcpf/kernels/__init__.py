"""Compiled loops on raw arrays. The only room that names numba; imports only dcpf.memory of dcpf."""
