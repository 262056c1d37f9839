"""The page on which people label images: ``t2i label FOLDER --annotator NAME``."""
