"""`judge_temperature`: what a judge's score gap is worth in human preference, and Soft-Elo under that."""

from bayesjudge.models.judge_temperature.model import JudgeTemperature

__all__ = ["JudgeTemperature"]
