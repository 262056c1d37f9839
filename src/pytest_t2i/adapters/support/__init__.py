"""What adapters share: devices, loading, digests, decoding, the code of what is registered."""
