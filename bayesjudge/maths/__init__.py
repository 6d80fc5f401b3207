"""Mathematics that models and baselines share: Bradley–Terry by Newton, comparison graphs, majorities."""
