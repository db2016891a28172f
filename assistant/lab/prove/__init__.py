"""Prove on a user's own machine that speculation changes nothing but the speed."""
