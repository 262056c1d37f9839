"""Two runs compared, several models compared, and changes along a history."""
