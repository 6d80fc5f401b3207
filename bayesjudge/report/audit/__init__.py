"""The audit answer: its sentences, its screen and its page."""
