"""The sizes of the workloads."""

STEPS = 10
"""Of the Babylonians' square root, W3."""

DESCENT_STEPS, DESCENT_RATE = 200, 0.9
"""Of the training, W5b."""

VOCABULARY, BLOCK, EMBEDDING, HIDDEN, BATCH = 27, 3, 10, 64, 32
EPSILON = 1e-5
"""Of the character network, W6."""
