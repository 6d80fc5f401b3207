"""Densities as compiled programs on one device."""
