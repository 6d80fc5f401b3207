"""The accuracy answer: its sentences, its screen and its page."""
