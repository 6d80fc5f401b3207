"""Pages as a browser lays them out: the first screen, what scrolls, what the keyboard reaches, what is printed."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bayesjudge.report import Comparison, Interval, Page, Table, render_page
from bayesjudge.report.stored import QUESTIONS
from bayesjudge.report.writing import MOST_ROWS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync", "--hide-scrollbars"]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

#: Answers that are longer than most: nine judges of long names, with rows that are packed and without; twelve models
#: without a label.
LONG = ("accuracy by many", "reliability of many", "accuracy of many")
#: Measured in the page, once its own script has run.
MEASURE = """
const wrong = []; window.onerror = (message) => { wrong.push(message); };
const box = (selector) => document.querySelector(selector).getBoundingClientRect();
const overflows = (one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1;
function measure() {
  const stops = [...document.querySelectorAll("a[href], button, summary, [tabindex]")];
  const reached = stops.filter((one) => one.tabIndex >= 0 && one.checkVisibility());
  const tops = reached.filter((one) => one.className !== "skip").map((one) => one.getBoundingClientRect().top);
  const regions = [...document.querySelectorAll(".scroll")];
  const unreachable = regions.filter(overflows).filter((one) => one.tabIndex !== 0).length;
  const before = { stops: reached, tops, unreachable };
  for (const part of document.querySelectorAll("details")) part.open = true;
  opened(20, before);
}
// Rows of long tables come when their fold has been opened.
function opened(tries, before) {
  const empty = document.querySelector("tbody:not(:has(tr))");
  setTimeout(empty && tries ? () => opened(tries - 1, before) : () => found(before), 200);
}
function found({ stops, tops, unreachable }) {
  const regions = [...document.querySelectorAll(".scroll")];
  const drawings = [...document.querySelectorAll("svg.drawing")];
  const wide = regions.filter(overflows);
  const values = {
    answer: box(".headline").bottom, table: box(".first table").bottom, right: box(".first table").right,
    sideways: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    wide: wide.map((one) => one.textContent.trim().slice(0, 40)), stops: stops.length,
    jumps: stops.filter((one) => one.tabIndex > 0).length + tops.filter((top, k) => top < tops[k - 1] - 30).length,
    cut: [...document.querySelectorAll("table")].filter((one) => one.checkVisibility())
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
      .map((one) => one.textContent.trim().slice(0, 40)),
    broken: [...document.querySelectorAll(".first thead th")].flatMap(brokenWords),
    over: [...document.querySelectorAll("tbody th")].filter((one) => one.checkVisibility() && textRight(one) >
      one.getBoundingClientRect().right).map((one) => one.textContent),
    unreachable, drawings: drawings.length, outside: drawings.map(marksOutside).reduce((a, b) => a + b, 0),
    sorted: [...document.querySelectorAll("table.sortable")].flatMap(sortedColumns), wrong,
    rows: Math.max(...[...document.querySelectorAll("tbody")].map((one) => one.rows.length)),
  };
  parent.postMessage(JSON.stringify(values), "*");
}
// Words of twelve letters or fewer that stand on two lines.
function brokenWords(heading) {
  const texts = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[A-Za-z]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (word[0].length <= 12 && range.getClientRects().length > 1) found.push(word[0]);
    }
  }
  return found;
}
function textRight(cell) {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getBoundingClientRect().right;
}
function marksOutside(drawing) {
  const whole = drawing.getBoundingClientRect();
  const marks = [...drawing.querySelectorAll("use")].map((one) => one.getBoundingClientRect());
  return marks.filter((one) => one.right > whole.right + 1 || one.left < whole.left - 1
    || one.bottom > whole.bottom + 1 || one.top < whole.top - 1).length;
}
// Of every column with numbers, the values of its cells after a click on its heading.
function sortedColumns(table) {
  const rows = table.tBodies[0].rows;
  return [...table.tHead.rows[0].cells].filter((heading) => rows[0].cells[heading.cellIndex].dataset.value)
    .map((heading) => {
      heading.querySelector("button").click();
      const cells = [...rows].map((row) => row.cells[heading.cellIndex]);
      // JSON has no infinity.
      const values = cells.filter((cell) => cell.dataset.value).map((cell) => Number(cell.dataset.value));
      return values.map((value) => Math.max(-1e300, Math.min(1e300, value)));
    });
}
// Observers of sizes are called in a frame.
function ready(tries) {
  const late = [...document.querySelectorAll(".scroll")].some((one) => overflows(one) && one.tabIndex !== 0);
  setTimeout(late && tries ? () => ready(tries - 1) : measure, 300);
}
setTimeout(() => ready(10), 300);
"""
LIGHT, DARK = (f"--blink-settings=preferredColorScheme={k}" for k in (1, 0))
#: Width in pixels of what is printed on A4 between margins of 14 mm.
PAPER = 688


def browse(folder: Path, *options: str, page: str = "page.html") -> subprocess.CompletedProcess[str]:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", *options, (folder / page).as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def measured(text: str, folder: Path, width: int, height: int, *options: str) -> dict[str, Any]:
    """A page in a frame of that size, for a window is never narrower than 500 pixels."""
    policy = r'<meta http-equiv="Content-Security-Policy"[^>]*>'
    text = re.sub(policy, "", text).replace("</body>", f"<script>{MEASURE}</script></body>")
    (folder / "page.html").write_text(text, encoding="utf-8")
    hears = "onmessage = (e) => { const p = document.createElement('pre'); p.id = 'm'; p.textContent = e.data; "
    frame = f"<iframe src=page.html style='border:0;width:{width}px;height:{height}px'></iframe>"
    (folder / "frame.html").write_text(f"{frame}<script>{hears}document.body.append(p) }}</script>", encoding="utf-8")
    options = ("--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom", *options)
    # Observers of sizes are called in a frame, of which a busy machine may draw none within the virtual time.
    for _ in range(3):
        found = re.search(r'<pre id="m">(.*?)</pre>', browse(folder, *options, page="frame.html").stdout, re.DOTALL)
        assert found, "the page was not measured"
        values: dict[str, Any] = json.loads(html.unescape(found[1]))
        if not values["unreachable"]:
            break
    return values


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("size", [(1280, 800), (375, 812)])
@pytest.mark.parametrize("question", [*QUESTIONS, *LONG])
def test_the_first_screen_holds_the_answer_and_its_table(
    answer_to: Callable[[str], Comparison], question: str, size: tuple[int, int], theme: str, tmp_path: Path
) -> None:
    width, height = size
    found = measured(render_page(answer_to(question).page()), tmp_path, width, height, theme)
    assert found["wrong"] == []
    assert found["answer"] < found["table"] <= height
    assert found["right"] <= width
    assert not found["sideways"]
    assert found["drawings"] > 0
    assert found["outside"] == 0
    assert found["broken"] == []
    assert found["stops"] <= 40
    assert found["jumps"] == 0
    assert found["unreachable"] == 0
    assert len(found["sorted"]) > 2
    assert all(values == sorted(values) for values in found["sorted"])
    if width > 1000:
        assert found["wide"] == []
    if question == "accuracy by many":
        assert found["rows"] > MOST_ROWS


@pytest.mark.parametrize("width", [1200, 390])
def test_a_short_word_of_a_heading_is_never_broken(width: int, tmp_path: Path) -> None:
    """Of three judges the column of models had room for two letters of its name."""
    judges = ["claude-3-opus-20240229", "gemini-1.5-pro", "CodeLlama_34b_Instruct_of_a_name_that_has_no_end_at_all"]
    names = {f"Bayesian (Bradley–Terry) by {judge}": Interval(1500, 1400, 1600) for judge in judges}
    frame = pd.DataFrame([{"model": name, **names} for name in "xyz"])
    table = Table(caption="Elo", frame=frame, number_format=".0f")
    page = Page(title="Elo", question="Which?", headline=["x leads."], table=table)
    found = measured(render_page(page), tmp_path, width, 800)
    assert found["broken"] == []
    assert found["right"] <= width
    assert not found["sideways"]


@pytest.mark.parametrize("width", [1200, 700])
def test_a_name_without_a_space_is_not_printed_over_the_next_column(width: int, tmp_path: Path) -> None:
    names = ["anthropic_claude_3_5_sonnet_20241022_v2_extended_thinking_prompt_b", "short"]
    frame = pd.DataFrame([{"model": name, "PPI++ (logit)": Interval(0.5, 0.4, 0.6)} for name in names])
    table = Table(caption="Accuracy", frame=frame, number_format=".2f")
    found = measured(render_page(Page(title="A", question="Which?", headline=["x"], table=table)), tmp_path, width, 800)
    assert found["over"] == []
    assert not found["sideways"]


def test_the_button_saves_the_answer(answer_to: Callable[[str], Comparison], tmp_path: Path) -> None:
    """Under the page's own policy of scripts, to which only the click is added."""
    answer = answer_to("accuracy")
    click = """setTimeout(() => document.querySelector(".download button").click(), 300)"""
    digest = base64.b64encode(hashlib.sha256(click.encode()).digest()).decode()
    page = render_page(answer.page()).replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    (tmp_path / "page.html").write_text(page.replace("</body>", f"<script>{click}</script></body>"), encoding="utf-8")
    settings = tmp_path / "profile" / "Default" / "Preferences"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"download": {"default_directory": str(tmp_path / "saved")}}))
    saved = tmp_path / "saved" / "answer.json"
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--remote-debugging-port=0"]
    with subprocess.Popen([*command, (tmp_path / "page.html").as_uri()], stderr=subprocess.DEVNULL) as browser:
        for _ in range(300):
            if saved.exists():
                break
            time.sleep(0.2)
        browser.terminate()
    assert saved.read_text(encoding="utf-8") == answer.to_json()


@pytest.mark.parametrize("question", [*QUESTIONS, *LONG])
def test_on_paper_there_are_four_pages_at_most_and_no_column_is_cut(
    answer_to: Callable[[str], Comparison], question: str, tmp_path: Path
) -> None:
    page = render_page(answer_to(question).page())
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    printed = browse(tmp_path, f"--print-to-pdf={tmp_path / 'page.pdf'}", "--enable-logging=stderr")
    # As it is, its policy of scripts included, the page says nothing on the console.
    assert "CONSOLE" not in printed.stderr
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())
    assert 1 <= len(pages) <= 4
    assert "@media print" in page
    found = measured(page.replace("@media print", "@media all"), tmp_path, PAPER, 970)
    assert found["cut"] == []
