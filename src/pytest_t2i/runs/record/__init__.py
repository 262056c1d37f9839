"""The record of a run: built, written, read, and the files beside it."""
