"""A conversation being had, without a screen: the chat and `ask` are its clients."""
