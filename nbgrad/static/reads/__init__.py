"""What a recorded function reads beside its arguments, and whether it is still the same."""
