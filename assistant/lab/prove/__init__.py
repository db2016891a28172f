"""Prove on a person's own machine that speculation changes nothing but the speed."""
