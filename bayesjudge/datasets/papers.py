"""The MMLU-Pro case study of "Bias and Uncertainty in LLM-as-a-Judge Estimation", as reported there."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

#: Columns of the transcription, as our methods are called.
_METHODS = {
    "naive": "naive",
    "rg_shared": "rogan-gladen[shared]",
    "rg_specific": "rogan-gladen[specific]",
    "ppi_half": "ppi++[half]",
    "ppi_full": "ppi++",
}
_MODELS = ("Gemma 3 12B", "Qwen 2.5 7B")
#: Three decimals in each of the two values (.0005 + .0005) and in the printed difference (.0005), and a hair
#: for binary floating point.
_ROUNDING = 0.0015 + 1e-9


def mmlu_pro() -> pd.DataFrame:
    """Reported estimates of two models' accuracy in four subjects under two judges.

    Returns
    -------
    pandas.DataFrame
        One row a subject, judge, estimand, unit and method: ``point`` the reported bootstrap median,
        ``truth`` the accuracy by the answer key. For differences (Gemma 3 12B − Qwen 2.5 7B) both are
        computed here from the two models' values, ``printed`` is the size that the paper prints, and
        ``note`` says where the two disagree by more than rounding.

    Notes
    -----
    Source: "Bias and Uncertainty in LLM-as-a-Judge Estimation", Appendix E.5, Table 7; the differences are
    also its Tables 2 and 4. In the text the table was transcribed from, column heads and minus signs were
    lost: columns follow the order in which section 6 names the estimators (Qwen 2.5 7B, the calibration
    model, indeed has equal values under shared and model-specific Rogan–Gladen), and signs come from the
    models' values. The paper reports bootstrap medians, and a median of differences is not the difference
    of two medians, so some printed sizes differ: most for model-specific Rogan–Gladen in law, where Youden's
    J is very low. Intervals, sensitivities and specificities (Tables 1, 3 and 6) were lost altogether. The
    truth in engineering differs between the judges by .001 to .002; the paper does not say why.
    """
    wide = _read("mmlu_pro.csv").rename(columns={**_METHODS, "true": "truth", "model": "unit"})
    long = wide.melt(id_vars=["subject", "judge", "unit", "truth"], var_name="method", value_name="point")
    is_difference = long["unit"] == "difference"
    accuracy = long[~is_difference].assign(estimand="accuracy", printed=long["point"], note="")
    printed = long[is_difference].set_index(["subject", "judge", "method"])["point"]
    both = pd.concat([accuracy, _differences(accuracy, printed)], ignore_index=True)
    return both[["subject", "judge", "estimand", "unit", "method", "point", "truth", "printed", "note"]]


def mmlu_pro_questions() -> pd.DataFrame:
    """Questions a subject: in the benchmark, and with at least one well-formed response.

    A third of the usable questions were the calibration set and two thirds the test set (Appendix E.3).

    Returns
    -------
    pandas.DataFrame
        Columns ``subject, in_benchmark, usable``.

    Notes
    -----
    Source: "Bias and Uncertainty in LLM-as-a-Judge Estimation", Appendix E.2, Table 5.
    """
    return _read("mmlu_pro_questions.csv")


def _differences(accuracy: pd.DataFrame, printed: pd.Series[float]) -> pd.DataFrame:
    keys = ["subject", "judge", "method"]
    first, second = (accuracy[accuracy["unit"] == name].set_index(keys) for name in _MODELS)
    values = ["point", "truth"]
    rows = (first[values] - second[values]).assign(printed=printed)
    off = (rows["point"].abs() - rows["printed"]).abs() > _ROUNDING
    note = ("the paper prints ±" + rows["printed"].map("{:.3f}".format)).where(off, "")
    return rows.assign(estimand="difference", unit=" − ".join(_MODELS), note=note).reset_index()


def _read(name: str) -> pd.DataFrame:
    with (files("bayesjudge.datasets") / name).open(encoding="utf-8") as text:
        return pd.read_csv(text)


#: Trials behind every flip rate of `coin_flip`.
COIN_FLIP_TRIALS = 50


def coin_flip() -> pd.DataFrame:
    """Flip rate and majority of 50 comparisons by two judges on each of 29 questions.

    Returns
    -------
    pandas.DataFrame
        58 rows: ``item, category, judge``, ``flip_rate`` (share of the 50 trials outside the majority) and
        ``majority`` (a, b or tie; the paper calls the response presented first A, although it also says that
        the order was randomised in each trial, and does not report outcomes by order).

    Notes
    -----
    Source: arXiv 2606.13685, Appendix C, Tables 10 and 11. The split of the other votes between the two other
    outcomes is not reported: where the flip rate is below one half it is between nothing and all of it for
    either.
    """
    return _read("coin_flip.csv")
