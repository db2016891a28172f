"""`specchat tune`, as a person sees it."""
