"""Inputs that chance makes, and what reads what strangers write."""
