"""Scheduling: which values have a buffer, which share a loop nest, and in which order."""

from .fuse import Group, Schedule, Single, Step, schedule

__all__ = ["Group", "Schedule", "Single", "Step", "schedule"]
