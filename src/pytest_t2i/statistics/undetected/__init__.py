"""Bounds and worst cases for undetected images."""
