"""Name the change that made a model more biased than its baseline."""
