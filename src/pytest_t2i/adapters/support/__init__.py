"""What adapters share: devices, loading, digests, pictures, the code of what is registered."""
