"""Sources of proposals that know more than the text: forms, thoughts, stored answers."""
