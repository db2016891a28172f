"""`specchat bench`, as a person sees it."""
