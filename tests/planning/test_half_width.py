"""Labels that a half width takes."""

from __future__ import annotations

import numpy as np
import pytest

from bayesjudge.datasets import simulate_verdicts
from bayesjudge.errors import UsageError
from bayesjudge.planning.labels.sampling import labels_for_half_width
from bayesjudge.report.accuracy.headline import headline
from bayesjudge.studies.accuracy import accuracy


def test_the_number_solves_for_the_half_width() -> None:
    """Two-phase sampling: p(1 - p)/N and c(1/n - 1/N), here with c = .1, both times z²."""
    z2, n, size, p, c = 1.959963984540054**2, 80, 4000, 0.7, 0.1
    now = np.sqrt(z2 * (p * (1 - p) / size + c * (1 / n - 1 / size)))
    found = labels_for_half_width(0.03, now=now, labelled=n, answers=size, accuracy=p)
    reached = np.sqrt(z2 * (p * (1 - p) / size + c * (1 / found - 1 / size)))
    assert reached <= 0.03 < np.sqrt(z2 * (p * (1 - p) / size + c * (1 / (found - 1) - 1 / size)))
    few = labels_for_half_width(0.01, now=0.2, labelled=20, answers=100, accuracy=0.5)
    assert few == np.ceil(z2 * 0.25 / 0.01**2)
    # With all labelled the half width says nothing of the judge: of 297 labels and ± .034, 297 were said to give .05.
    whole = labels_for_half_width(0.05, now=0.034, labelled=297, answers=297, accuracy=0.9)
    assert whole == np.ceil(z2 * 0.09 / 0.05**2)
    with pytest.raises(UsageError):
        labels_for_half_width(0.05, now=0.1, labelled=0, answers=10, accuracy=0.5)


@pytest.mark.slow
def test_an_answer_on_one_system_says_how_many_labels() -> None:
    table = simulate_verdicts(seed=3, labelled=60, unlabelled=90).verdicts.frame
    one = table[table["model"] == table["model"].iloc[0]]
    answer = accuracy(one, engine="laplace", draws=100, bootstrap=0, compare=False, panel=False)
    text = next(text for name, _, text in answer.checklist if name == "Single model or comparison")
    assert "would give ± 0.05" in text
    lines = headline(answer)
    assert [line for line in lines if "would give ± 0.05" in line] == [
        text.removeprefix("One model: no comparison is made. ")
    ]
    raw = answer.estimates.where(estimand="accuracy", method="naive").frame.iloc[0]
    mine = answer.estimates.where(estimand="accuracy", method="bayes:judge_error[partial]").frame.iloc[0]
    (said,) = (line for line in lines if line.startswith("The raw rate on answers without a label is off by"))
    assert f"({raw['point']:.3f} raw, " in said
    where = "inside" if mine["lower"] <= raw["point"] <= mine["upper"] else "outside"
    assert said.endswith(f", {where} the interval.")
    several = headline(accuracy(table, engine="laplace", draws=100, bootstrap=0, compare=False, panel=False))
    assert not [line for line in several if "would give" in line or line.startswith("The raw rate")]
