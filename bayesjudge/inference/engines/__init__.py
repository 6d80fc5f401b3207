"""NUTS, lock-step HMC, Laplace and PyMC, and where they start."""
