"""`specchat tune`: which engine is faster on this machine, and what evaluations cost."""
