"""The app: its screens, keys, signals and colours."""
