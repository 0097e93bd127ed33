"""The process that nbgrad runs in: its cores, forks, signals, memory, and the layout of objects."""
