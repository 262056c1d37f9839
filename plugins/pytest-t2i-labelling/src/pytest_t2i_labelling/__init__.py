"""People label images: on the page of ``t2i label page``, or in Label Studio."""
