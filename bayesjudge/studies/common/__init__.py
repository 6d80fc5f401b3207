"""What all questions share: options, checks, the terminal, the page."""
