"""Programs with arrays, as users write them, for tests of derivatives."""
