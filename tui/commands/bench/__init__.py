"""The commands of `specchat bench`, one module each."""
