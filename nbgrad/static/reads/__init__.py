"""The values that a recorded function reads besides its arguments, and checks that they are the
same."""
