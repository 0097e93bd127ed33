"""Helpers shared by tests: child processes, programs and tables of cases. Not collected as tests.

The folders hold the helpers of single rooms: `helpers.values` has those of `tests/values`.
"""
