"""The reliability answer: its sentences, its screen and its page."""
