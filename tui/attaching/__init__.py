"""Files and long texts that go along with a question."""
