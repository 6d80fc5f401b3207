"""What was looked into after a coverage sweep, by question: part of VALIDATION.md."""

from __future__ import annotations

__all__ = ["NOTES"]

#: What was looked into after a run.
NOTES = {
    "accuracy": """`models and judge drawn from the prior`: accuracies and error rates as `judge_error`
expects them, a judge who may be worse than a coin among them; labels of one item agree as those of real
questions do, by normal scores that correlate by .5, which no likelihood here contains.""",
    "elo": """`battles`: the same six strengths in every log; which model has which is dealt anew. After 100
battles intervals are 18 % narrower than hard-elo's, errors 14 % smaller, and both hold .93 to .94 of the
truths. Pooling pulls the best and the last towards the others: theirs hold .89 and .90, those of the four
between .95 and .96. That is no chance: were the strengths not dealt, the test of each unit would reject the
best model's. With a half-normal spread of strengths, as in METHODS 4.6, 400 logs gave .916 and .925,
another 400 .930 and .928, and these reweighted to a Rayleigh spread .947 and .945, which is why it is
Rayleigh now (`models/bradley_terry/README.md`).

`spread of drawn strengths`: six strengths drawn anew for each log from a normal population of that spread
(logits). Expected before the run: .99 at .1, .96 to .97 at .3, .95 at .6 and 1, .94 to .95 at 2. Where
models hardly differ intervals cover more than they say (at .1 beyond chance: the rows named above), and are
24 to 28 % narrower than hard-elo's, errors 28 to 39 % smaller. At .6 and more they hold .94 to .95;
hard-elo's hold .91 to .94, 20 to 32 % wider. One prior on a spread does not hold .95 at each spread by
itself: in normal data of that design, where posteriors are exact and no sampler is in the way
(`benchmarks/pooling.py`), differences are held .987 at a spread of .1 with the model's prior, .967 at .3,
.946 to .958 from .45 on, and .951 over that prior. Any weights on spreads allowed, the prior with the
smallest departure from .95 is one that does not pool: a spread known to be large. χ with five degrees instead
of two stays within .02, gives up two thirds of what pooling takes off the error at .1, and would expect
strengths to have a spread of .9 to 3.6 logits.

`models drawn from the prior`: spread, strengths and ties as `bradley_terry` expects them. Intervals of Elo
hold .945 and .954 after 100 and 1,000 battles, hard-elo's .915 and .958, a third and 4 % wider.""",
    "soft-elo": """What is true is the Soft-Elo of the judge after endless battles, at the temperature of
endless votes (`datasets.soft_truth`); six strengths are dealt anew for each log. With the learning rate 1 of
METHODS 4.7 the Bayesian intervals held every truth of 300 logs, 2.5 to 2.8 times as wide
(`models/judge_temperature/README.md`). The bootstrap of soft-elo leaves the temperature where it was fitted:
most of the error is in it, and intervals hold .59 to .64. After 100 battles, some 25 votes that are no ties,
it has no answer in 15 % of the logs, whose fitted temperature is not above 0; and the prior of β carries
weight: β of this world is below its middle, and both Bayesian rows there hold more than they say.

`a judge's temperature drawn from the prior`: the same judges' gaps, and votes that follow from the gaps by a
β that `judge_temperature` expects. Its Soft-Elo holds .953/.937/.944 (100/300/1,000 battles), the bootstrap's
.846/.781/.784, 10 to 25 % narrower. β holds .945/.935/.925 (together .935 of 600, p .12; a hundred logs of
each size with other seeds gave .95/.96/.98, a thousand tables over the prior .959).""",
    "panel": """`labelled items`: two models of accuracy .72 and .65 before three judges who err together;
pooled levels of models so alike differ by less than `judge_panel` expects, and differences are held more
often than it says. `labels drawn from the prior`: votes of 300 items from a population of 4,000, labels of
the regression on them with parameters of its prior; the truth is that of the population, or of the 300.
Differences hold .925 and .935 (20/100 labels), accuracies .945 and .935; the best judge's ppi++ holds
differences in .88 and .925, 14 and 6 % wider.""",
    "reliability": """`two judges drawn from the prior`: parameters from the prior of `repeated_trials` as its
card has it, trials by the simulator of the package, which keeps every cell's verdict distribution. There
intervals should hold .95 exactly, but for minimum numbers of trials: those are whole numbers or infinite, so
that intervals may end on the truth. With their ends they hold .99 of them, between them .30 to .62: a quarter
(90 %) and half (95 %) of the truths are infinite, as the end is. In the other cells one judge is fixed.

The bootstrap asks how K of the trials that were made do, drawn without replacement, against the majority of
all: as K nears their number its noise budget nears 0, and it holds .27 of the truths for K = 10 of 10 trials
and K = 20 of 20.

66 of the 1,000 posteriors failed a gate after 1,000 draws of each chain, what the commands draw. After 500,
in an earlier run of the same data sets, 411 had: 292 by R-hat alone, mostly 1.010 to 1.02, 112 with an
effective sample below 400, 7 with a divergence; by estimand their intervals held .94 to .98 of the truths,
those of the others .93 to .98. All are in the figures.""",
    "scores": """Two judges of unequal noise (.6 and 1.2), response spread 1.5, trial spread .2; `mean_score`
is that of the trials made. `anova`: analysis of variance with F-intervals.""",
    "audit": """`verified pairs of 300`: question types have effects of .8, 0 and −.8; which type has which is
dealt anew for each log. Left where they were, in an earlier run, types at either end had .90 to .94 of their
truths held and the middle one .97 to .98: pooling pulls what is outermost to the others, and the test of each
unit rejected one of them (.9025 of 400). With a half-normal scale of question types, as there was until
November 2026, the rows at 60 and 120 verified pairs were .918 and .916
(`models/verdict_agreement/README.md`).

`effects drawn from the prior`: intercept, scales and effects as `verdict_agreement` expects them.

`verified share` takes the share of a type's verified pairs for its others; its intervals are a quarter to a
third wider.""",
}
