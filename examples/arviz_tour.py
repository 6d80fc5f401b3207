"""A fit in ArviZ's hands: ``python examples/arviz_tour.py [FOLDER]`` writes figures of simulated verdicts."""

from __future__ import annotations

import sys
from pathlib import Path

import arviz_base as azb
import arviz_plots as azp
import arviz_stats as azs

import bayesjudge as bj
from bayesjudge.datasets import simulate_verdicts
from bayesjudge.models.judge_error import JudgeError

SAYS = ["accuracy", "difference", "sensitivity", "specificity"]


def main(folder: Path) -> None:
    """Summaries, figures, prior sensitivity and a comparison of two poolings, all by ArviZ."""
    log = simulate_verdicts(seed=3, accuracy=(0.72, 0.65), youden=0.6, labelled=80, unlabelled=300).verdicts
    models = {pooling: JudgeError(pooling=pooling) for pooling in ("partial", "specific")}
    fits = {name: bj.fit(model, log, engine="nuts", seed=1) for name, model in models.items()}
    one = fits["partial"].with_prior()

    # What the model derives is in the posterior next to what it samples, with the systems' names.
    print(azs.summary(one.tree, var_names=SAYS, kind="stats"))
    print(azb.extract(one.tree, var_names="accuracy").mean("sample").to_series().round(3).to_string())
    print(azs.ci_in_rope(one.tree, var_names="difference", rope=(-0.02, 0.02))["difference"].to_series().to_string())
    print(azs.psense_summary(one.tree, var_names=["accuracy", "difference"]))

    # An observation is one answer, though answers are counted in cells; `az.loo` of the tree refuses.
    print(azs.compare({name: fit.loo() for name, fit in fits.items()}))

    figures = {
        "forest": azp.plot_forest({name: fit.tree for name, fit in fits.items()}, var_names=SAYS),
        "trace": azp.plot_trace(one.tree, var_names=["accuracy"]),
        "rank": azp.plot_rank(one.tree, var_names=["accuracy"]),
        "energy": azp.plot_energy(one.tree),
        "prior_posterior": azp.plot_prior_posterior(one.tree, var_names=["accuracy", "difference"]),
        "counts": azp.plot_ppc_rootogram(one.tree),
        "khat": azp.plot_khat(one.loo()),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png")
    print(f"{len(figures)} figures in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
