"""Eager plans: how one op runs on plain arrays, decided once for given shapes and dtypes."""
