"""The sizes of the workloads."""

STEPS = 10
"""Of the Babylonians' square root, W3."""

DESCENT_STEPS, DESCENT_RATE = 200, 0.9
"""Of the training, W5b."""

VOCABULARY, BLOCK, EMBEDDING, HIDDEN, BATCH = 27, 3, 10, 64, 32
EPSILON = 1e-5
"""Of the character network, W6."""

SAMPLES, TOKENS, WIDTH, HEADS = 8, 32, 64, 4
"""Of the transformer block, W12."""

PATHS, DATES, STRIKE = 10_000, 50, 100.0
"""Of the Asian option, W13."""
