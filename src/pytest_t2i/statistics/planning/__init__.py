"""Planning: how many images reach a verdict, and which verdicts a number of images can reach."""
