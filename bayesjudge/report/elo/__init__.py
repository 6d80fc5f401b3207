"""The elo answer: its sentences, its screen and its page."""
