"""Random functions with loops: their values and derivatives beside dual numbers."""
