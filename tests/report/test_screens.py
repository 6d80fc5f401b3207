"""What the terminal shows, from answers made by hand: no sampling."""

from __future__ import annotations

import html
import io
import itertools
import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from rich.measure import Measurement

from bayesjudge.estimates import Estimates
from bayesjudge.estimates.mixing import Gate
from bayesjudge.maths.majority import TRIALS
from bayesjudge.models.repeated_trials.results import ONCE
from bayesjudge.report import Page, render_page
from bayesjudge.report.accuracy.groups import groups_section
from bayesjudge.report.accuracy.headline import _labelling, headline
from bayesjudge.report.accuracy.terminal import MOST_PAIRS
from bayesjudge.report.citing import citation_of
from bayesjudge.report.comparison import Comparison
from bayesjudge.report.reliability.headline import MOST_TRIED
from bayesjudge.report.reliability.headline import headline as reliability_headline
from bayesjudge.report.sections import facts_of
from bayesjudge.report.terminal import fitted_table, show_answer

METHODS = ("bayes:judge_error[partial]", "ppi++[logit]", "naive", "rogan-gladen[shared]", "labelled")


def rows_of(models: list[str], judge: str, *, truth: bool) -> list[dict[str, Any]]:
    """Accuracies .9, .85, ... and their differences by every method, each with half width .05."""
    known = {model: 0.9 - 0.05 * k for k, model in enumerate(models)}
    units = [("accuracy", model, value) for model, value in known.items()]
    units += [("difference", f"{a} − {b}", known[a] - known[b]) for a, b in itertools.combinations(models, 2)]
    return [
        {
            "estimand": estimand,
            "unit": unit,
            "method": method,
            "point": value,
            "lower": value - 0.05,
            "upper": value + 0.05,
            "prob": 0.95,
            "n": 100,
            "judge": judge,
            "truth": value if truth else math.nan,
            "p_positive": 0.987 if estimand == "difference" and method.startswith("bayes:") else math.nan,
        }
        for estimand, unit, value in units
        for method in METHODS
    ]


SETTINGS = {"prob": 0.95, "population": "superpopulation", "panel": False}


def answer_of(
    models: list[str], judges: tuple[str, ...] = ("judge",), *, truth: bool = False, **changes: Any
) -> Comparison:
    several = len(judges) > 1
    estimates = [row for judge in judges for row in rows_of(models, judge if several else "", truth=truth)]
    quality = [
        {
            "estimand": estimand,
            "unit": model,
            "method": METHODS[0],
            "point": 0.8,
            "lower": 0.7,
            "upper": 0.9,
            "prob": 0.95,
            "judge": judge,
        }
        for judge in judges
        for estimand in ("sensitivity", "specificity", "youden")
        for model in models
    ]
    ranks = [
        {"judge": judge, "model": model, "p_best": 1.0 if k == 0 else 0.0}
        for judge in judges
        for k, model in enumerate(models)
    ]
    found: dict[str, Any] = {
        "question": "accuracy",
        "estimates": Estimates.from_rows(estimates),
        "diagnostics": Estimates.from_rows(quality),
        "ranks": pd.DataFrame(ranks),
        "fits": {},
        "checks": {},
        "warnings": (),
        "checklist": (),
        "gate": Gate(passed=True, reasons=(), figures={}),
        "settings": SETTINGS,
    }
    return Comparison(**(found | changes))


def screen(answer: Comparison, width: int = 120, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_answer(answer, console=console, **options)
    text = console.file.getvalue()
    assert max(len(line) for line in text.splitlines()) <= width
    return text


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("judges", [("judge",), ("one", "two", "three")])
def test_no_figure_is_broken_at_any_width(width, judges, every):
    text = screen(answer_of(["otter-8b", "heron-large-instruct", "m"], judges, truth=True), width, every=every)
    assert "0.900 [0.850, 0.950]" in text
    assert "…" not in text


def test_eighty_columns_hold_bayes_beside_a_frequentist_interval_truth_and_rank():
    text = screen(answer_of(["otter-8b", "heron-large"], truth=True), 80)
    line = next(line for line in text.splitlines() if "otter-8b" in line and "[" in line)
    row = "otter-8b 0.900 0.900 [0.850, 0.950] 0.900 [0.850, 0.950] > .999"
    assert " ".join(line.split()) == row
    assert "PPI++" in text


def test_a_wider_terminal_shows_more_methods():
    answer = answer_of(["a", "b"])
    assert "raw rate" not in screen(answer, 80)
    assert "raw rate" in screen(answer, 120)


def test_truth_has_a_column_only_where_it_is_known():
    assert "truth" in screen(answer_of(["a", "b"], truth=True))
    assert "truth" not in screen(answer_of(["a", "b"]))


def test_differences_come_largest_first_and_say_what_is_hidden():
    models = [f"m{k}" for k in range(9)]
    text = screen(answer_of(models))
    shown = [line for line in text.splitlines() if " − " in line]
    assert "Bayesian" in text
    assert shown[0].split()[:3] == ["m0", "−", "m8"]
    assert len(shown) == MOST_PAIRS
    assert f"{36 - MOST_PAIRS} smaller differences not shown" in text
    assert ".987" in shown[0]


@pytest.mark.parametrize("judges", [("judge",), ("one", "two")])
def test_one_model_has_neither_differences_nor_a_rank(judges):
    text = screen(answer_of(["alone"], judges))
    assert "Difference" not in text
    assert "P(best)" not in text
    assert "alone" in text


def test_several_judges_take_one_line_a_judge_and_model():
    text = screen(answer_of(["a", "b"], ("one", "two")), 80)
    accuracies = text.partition("Differences")[0]
    assert [line.split()[:2] for line in accuracies.splitlines() if " [" in line] == [
        ["one", "a"],
        ["one", "b"],
        ["two", "a"],
        ["two", "b"],
    ]


def test_judges_are_counted_by_the_side_of_zero_their_interval_lies_on():
    answer = answer_of(["a", "b", "c"], ("one", "two"))
    line = next(line for line in screen(answer).splitlines() if "a − c" in line)
    assert line.split() == ["a", "−", "c", "0.100", "2", "0", "0"]


def test_groups_have_their_own_lines():
    answer = answer_of(["a"])
    grouped = answer.estimates.with_column(group="law")
    both = Estimates.concat([answer.estimates, grouped])
    assert "a in law" in screen(answer_of(["a"], estimates=both))


def test_what_has_no_group_comes_after_all_groups():
    answer = answer_of(["a"])
    groups = [answer.estimates.with_column(group=name) for name in ("(missing)", "art", "law")]
    grouped = answer_of(["a"], estimates=Estimates.concat([answer.estimates, *groups]))
    for text in (screen(grouped), screen(grouped, 200, every=True)):
        assert text.index("a in law") < text.index("a in (missing)")
    section = groups_section(grouped)
    assert section is not None
    assert section.tables[0].frame["model"].tolist() == ["a in art", "a in law", "a in (missing)"]


def test_every_row_shows_every_method_and_its_note():
    answer = answer_of(["a", "b"])
    noted = answer.estimates.with_note("made by hand")
    text = screen(answer_of(["a", "b"], estimates=noted), 200, every=True)
    assert all(method in text for method in METHODS)
    assert "made by hand" in text
    assert "Youden" in text


def test_the_answer_and_its_table_come_first_then_what_must_be_known_of_them():
    gate = Gate(passed=False, reasons=("R-hat is 2",), figures={})
    answer = answer_of(["a", "b"], gate=gate, warnings=("few labels",), dropped={"verdict missing": 3})
    text = screen(answer)
    parts = ["By PPI++ (logit), the best", "Accuracy,", "gate failed R-hat", "warning few", "dropped 3", "Difference,"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_with_a_failed_gate_the_best_valid_baseline_answers():
    gate = Gate(passed=False, reasons=("bayes:x: R-hat of 2.000 is above 1.01: run longer chains",), figures={})
    frame = answer_of(["a", "b"]).estimates.frame
    shifted = frame.assign(point=frame["point"].where(frame["method"] != METHODS[0], 0.123))
    said = headline(answer_of(["a", "b"], gate=gate, estimates=Estimates(shifted)))
    best = "has the highest accuracy, 0.900 (95 % interval 0.850 to 0.950)."
    assert said[0] == f"By PPI++ (logit), the best valid baseline here, a {best}"
    assert said[1] == "A gate failed, so no Bayesian figure may be used: R-hat of 2.000 is above 1.01."
    assert not any("0.123" in text or "probability" in text for text in said)


def test_where_labels_look_chosen_the_baseline_that_answers_is_in_the_first_table():
    gate = Gate(passed=False, reasons=("bayes:judge_error[partial]: labels look chosen",), figures={})
    rows = answer_of(["a", "b"]).estimates
    eif = Estimates(rows.where(method="ppi++[logit]").frame.assign(method="eif[logit]"))
    text = screen(answer_of(["a", "b"], gate=gate, estimates=Estimates.concat([rows, eif])))
    assert text.lstrip().startswith("By EIF (logit), valid if labels were chosen by verdicts alone, a has")
    (heading,) = [line for line in text.splitlines() if line.strip().startswith("model ")][:1]
    assert heading.split()[1] == "(logit)"
    assert "EIF" in text[: text.index("model ")].rpartition("Accuracy")[2]
    assert "PPI++" not in text


def test_a_citation_states_why_the_gate_failed():
    gate = Gate(passed=False, reasons=("bayes:judge_error[partial]: labels look chosen",), figures={"rhat": 1.001})
    (*_, text, _) = citation_of(answer_of(["a"], gate=gate), "Which model is right most often?").text
    assert text.startswith(
        "Bayesian figures must not be reported, since a gate failed: Bayesian (partial pooling): labels"
    )
    assert "convergence" not in text
    (*_, text, _) = citation_of(answer_of(["a"]), "Which model is right most often?").text
    assert text == "The convergence checks passed."


def test_with_a_failed_gate_an_undefined_baseline_does_not_answer():
    gate = Gate(passed=False, reasons=("R-hat is 2",), figures={})
    frame = answer_of(["a", "b"]).estimates.frame
    undefined = frame["method"].eq("ppi++[logit]") & frame["unit"].eq("b")
    holes = Estimates(frame.assign(point=frame["point"].mask(undefined)))
    assert headline(answer_of(["a", "b"], gate=gate, estimates=holes))[0].startswith("By labelled only, the best valid")
    naive = holes.where(method=[METHODS[0], "naive"])
    assert headline(answer_of(["a", "b"], gate=gate, estimates=naive))[0].startswith("No baseline has")


def test_without_labels_no_model_is_best_and_the_next_command_is_named():
    command = "bayesjudge accuracy log.csv --where prompt=short --draws 200"
    data = {"data": {"labelled answers": 0}, "judges": ["judge"], "command": command}
    answer = answer_of(["a", "b"], settings=SETTINGS | data)
    said = headline(answer)
    assert said[0].startswith("Not yet: no answer has a human label")
    assert "90.0 % of a's, 85.0 % of b's answers correct" in said[1]
    assert said[2].endswith("bayesjudge next accuracy log.csv --where prompt=short --out to_label.csv")
    assert said[3].endswith(f"{data['command']} --gold to_label.csv")
    assert "best" not in screen(answer, 120)
    said = headline(answer_of(["a", "b"], settings=SETTINGS | data | {"metric": "score"}))
    assert said[0].startswith("These are metrics by reference or by code: no judge gave them")
    assert said[2].endswith(f"{command} --set 'label={{score}}'")
    assert said[3].endswith("bayesjudge compare log.csv AFTER --where prompt=short --set 'label={score}'")


def test_without_labels_each_judge_has_its_rates_in_a_table_of_its_own():
    """One table had one judge's rates without its name: .30 next to "97.6 %" by another of eight."""
    data = {"data": {"labelled answers": 0}, "judges": ["j", "k"], "command": "bayesjudge accuracy log.csv"}
    answer = answer_of(["a", "b"], ("j", "k"), settings=SETTINGS | data)
    frame = answer.estimates.frame
    differ = frame.assign(point=frame["point"].mask((frame["judge"] == "k") & (frame["unit"] == "a"), 0.321))
    text = screen(replace(answer, estimates=Estimates(differ)), 120)
    first, second = text.index("Raw verdict rate, judge j"), text.index("Raw verdict rate, judge k")
    assert "0.321" not in text[first:second]
    assert "0.321" in text[second:]


def test_names_are_printed_as_they_are_not_read_as_markup():
    text = screen(answer_of(["[red]a[/red]", "[/]"], ("[bold]j", "k")))
    assert "[red]a[/red]" in text
    assert "[bold]j" in text
    assert "[/]" in screen(answer_of(["[/]", "b"]), every=True)


def test_an_undefined_estimate_is_called_so():
    answer = answer_of(["a", "b"])
    frame = answer.estimates.frame.copy()
    frame.loc[frame["method"] == "ppi++[logit]", "point"] = np.nan
    assert "undefined" in screen(answer_of(["a", "b"], estimates=Estimates(frame)))


def test_zero_has_no_sign():
    frame = answer_of(["a", "b"]).estimates.frame
    tiny = Estimates(frame.assign(point=-1e-9, lower=-1e-9, upper=1e-9))
    assert "-0.000" not in screen(answer_of(["a", "b"], estimates=tiny))


def test_the_probability_of_the_intervals_is_not_rounded_away():
    assert "99.9 % intervals" in screen(answer_of(["a", "b"], settings=SETTINGS | {"prob": 0.999}))


@pytest.mark.parametrize("width", range(60, 161))
@pytest.mark.parametrize("names", [["mixtral-8x7b", "llama-2-70b"], ["M1", "M2"], ["a name of words", "another"]])
def test_columns_that_fit_are_not_cut_and_leave_the_names_room(names: list[str], width: int) -> None:
    """Headings may be wider than cells, and cells than headings."""
    judged = [f"{method} by gpt-3.5-turbo-0301" for method in ("hard-elo", "label-smoothing[0.75]")]
    methods = ["bayes:judge_elo", "bayes:bradley_terry[human]", "hard-elo", *judged, "ppi++[logit]"]
    cells = ["1591 [1476, 1719]", "-0.591 [-0.476, -0.719]"]
    figures = dict.fromkeys(methods, cells)
    table, shown = fitted_table(
        "scores",
        figures,
        width,
        names={"model": names},
        before={"truth": ["1", "2"]},
        after={"P(best)": ["< .001"] * 2},
    )
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(table)
    text = console.export_text()
    assert "…" not in text
    assert all(word in text for name in ["model", *names] for word in name.split())
    assert [text.count(cell) for cell in cells] == [len(shown)] * 2
    assert text.count("< .001") == 2
    # One more would not have fitted.
    if len(shown) < len(methods):
        more = fitted_table("", dict.fromkeys(methods[: len(shown) + 1], cells), 500, names={"model": names})[0]
        assert Measurement.get(console, console.options.update(width=500), more).maximum + 16 > width


def test_a_notebook_shows_the_answer_and_its_page_in_a_frame(monkeypatch):
    stub = Page(title="t", question="q", headline=['<b>"best"</b>'])
    monkeypatch.setattr(Comparison, "page", lambda _: stub)
    monkeypatch.setattr(Comparison, "_layout", lambda *_: lambda _, *, excerpt: stub if excerpt else None)
    answer = answer_of(["a", "b"])
    assert "&lt;b&gt;" in answer._repr_html_()
    shown = answer.show(height=321)._repr_html_()
    source = re.fullmatch(r'<iframe srcdoc="([^"]*)" style="width: 100%; height: 321px; border: 0"></iframe>', shown)
    assert source
    assert html.unescape(source[1]) == render_page(stub)


@pytest.mark.parametrize(("n", "whose"), [(100, "Raw rates are"), (60, "Raw rates on answers without a label are")])
def test_the_headline_says_of_which_answers_a_raw_rate_is(n: int, whose: str) -> None:
    frame = answer_of(["a", "b"]).estimates.frame
    frame = frame.assign(n=frame["n"].where(frame["method"] != "naive", n))
    assert f"{whose} off by up to" in " ".join(headline(answer_of(["a", "b"], estimates=Estimates(frame))))
    # The same words as in the tables.
    assert "raw rate" in screen(answer_of(["a", "b"], ("one", "two")), 120)


def repeated(
    judges: dict[str, str], *, trials: tuple[float, float, float] = (5.0, 3.0, 25.0), **parts: Any
) -> list[str]:
    """The headline on judges whose rate within one order has these notes."""
    rows = [
        {"estimand": estimand, "unit": judge, "method": "bayes:repeated_trials", "note": note, "prob": 0.95}
        | dict(zip(("point", "lower", "upper"), values, strict=True))
        for judge, noted in judges.items()
        for estimand, values, note in (
            ("flip_rate", (0.3, 0.2, 0.4), ""),
            ("flip_rate[same order]", (0.16, 0.0, 0.33), noted),
            ("minimum_trials[95%]", trials, ""),
        )
    ]
    parts |= {"estimates": Estimates.from_rows(rows), "diagnostics": Estimates.from_rows([]), "question": "reliability"}
    return reliability_headline(answer_of(["a"], **parts))


def test_a_rate_that_only_the_prior_knows_is_no_headline() -> None:
    said = " ".join(repeated({"x": "", "y": ONCE}))
    assert "x: 16.0 % of its verdicts lie outside the majority of trials in the same order" in said
    assert "y: 30.0 % of its verdicts lie outside the majority (20.0 % to 40.0 %); no comparison was repeated" in said
    many = " ".join(repeated(dict.fromkeys("xyz", ONCE)))
    assert "16.0 %" not in many
    assert "No comparison was repeated in the same order." in many
    assert "No comparison of 1 of 3 judges was" in " ".join(repeated({"x": "", "y": ONCE, "z": ""}))


@pytest.mark.parametrize(
    ("option", "written"), [("", "1 (right) or 0 (wrong)"), (" --label label=good", "what that command says")]
)
def test_what_to_write_is_what_is_read(option: str, written: str) -> None:
    """With values of its own for yes, 1 would have been read as no."""
    answer: Any = SimpleNamespace(settings={"command": f"bayesjudge accuracy log.csv{option}"})
    assert _labelling(answer)[1].startswith(f"Write {written} into its column label")


def test_the_number_of_trials_has_its_interval() -> None:
    assert TRIALS[-1] == MOST_TRIED
    assert repeated({"x": ""})[-2].endswith("takes 5 trials (interval 3 to 25).")
    assert repeated({"x": ""})[-1] == "Intervals are about items like these: the items are a sample of them."
    assert repeated({"x": ""}, trials=(1.0, 1.0, math.inf))[-2].endswith("takes 1 trial (interval 1 to more than 101).")
    never = repeated({"x": ""}, trials=(math.inf, 41.0, math.inf))
    assert never[-2] == "No number of trials up to 101 finds an item's majority with probability .95 for x."


@pytest.mark.parametrize(
    ("settings", "end"),
    [
        ({"data": {"clusters": 80}}, "new items like these 80, whose pairs of models go together."),
        ({"data": {"clusters": 9}, "cluster": "book"}, "new values of 'book' like these 9, whose items go together."),
        ({"data": {"items": 9}}, "items like these: the items are a sample of them."),
    ],
)
def test_intervals_are_said_to_be_of_what_was_drawn_together(settings: dict[str, Any], end: str) -> None:
    whole = {"prob": 0.95, **settings}
    assert repeated({"x": ""}, settings=whole)[-1] == f"Intervals are about {end}"


def test_the_header_of_a_page_names_a_few_of_many_files() -> None:
    """A folder's 76 files and their hashes were the first quarter of the page."""
    files = [{"file": f"runs/m{k}.jsonl", "sha256": f"{k:064d}"} for k in range(76)]
    said = facts_of(answer_of(["a"], source=files))
    assert said[0] == f"m0.jsonl (SHA-256 {'0' * 12}…)"
    assert said[4] == "72 more files"
    assert len([fact for fact in facts_of(answer_of(["a"], source=files[:4])) if "SHA-256" in fact]) == 4
