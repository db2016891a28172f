"""`specchat bench`, as a user sees it."""
