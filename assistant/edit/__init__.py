"""Files that are rewritten: what is asked, what has changed, and how it is written."""
