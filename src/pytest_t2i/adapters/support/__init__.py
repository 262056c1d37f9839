"""Helpers shared by adapters: devices, loading, digests, pictures, HTTP, digests of code."""
