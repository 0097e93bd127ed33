"""Scheduling: which values have a buffer, which share a loop nest, and in which order."""

from .fuse import FusionGroup, Schedule, ScheduledStep, Single, schedule

__all__ = ["FusionGroup", "Schedule", "ScheduledStep", "Single", "schedule"]
