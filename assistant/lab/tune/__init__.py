"""`specchat tune`: which settings evaluate fastest on this machine, and what that is worth."""
