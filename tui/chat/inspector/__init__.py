"""An answer's tokens, one by one."""
