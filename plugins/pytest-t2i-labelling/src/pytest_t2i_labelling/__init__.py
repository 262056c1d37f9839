"""People label images: on the page of ``t2i label``, or in Label Studio."""
