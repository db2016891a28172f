"""`specchat prove`, as a person sees it."""
