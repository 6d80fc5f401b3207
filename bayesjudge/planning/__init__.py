"""What to collect next: labels and trials."""
