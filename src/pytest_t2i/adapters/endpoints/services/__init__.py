"""Services that make pictures behind HTTP, one module each: build a request, read an answer."""
