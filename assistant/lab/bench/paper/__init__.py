"""The papers' tables and figures, measured with other models on another machine."""
