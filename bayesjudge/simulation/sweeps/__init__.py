"""The simulated worlds of each question, and the methods compared on them."""
