"""Pages as a browser lays them out: the first screen, what scrolls, what the keyboard reaches, what is printed."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayesjudge.report import Comparison, render_page
from bayesjudge.report.stored import QUESTIONS

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

#: Measured in the page, once its own script has run.
MEASURE = """
const wrong = []; window.onerror = (message) => { wrong.push(message); };
const box = (selector) => document.querySelector(selector).getBoundingClientRect();
const overflows = (one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1;
function measure() {
  const stops = [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")];
  const reached = stops.filter((one) => one.tabIndex >= 0 && one.checkVisibility());
  const regions = [...document.querySelectorAll(".scroll")];
  const unreachable = regions.filter(overflows).filter((one) => one.tabIndex !== 0).length;
  const parts = [...document.querySelectorAll("details")];
  for (const part of parts) part.open = true;
  const marks = [...document.querySelectorAll(".first svg use")].map((one) => one.getBoundingClientRect());
  const drawing = box(".first svg");
  const wide = regions.filter(overflows);
  const found = {
    answer: box(".headline").bottom, table: box(".first table").bottom, right: box(".first table").right,
    sideways: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    wide: wide.map((one) => one.textContent.trim().slice(0, 40)), stops: reached.length,
    unreachable,
    outside: marks.filter((one) => one.right > drawing.right + 1 || one.left < drawing.left - 1).length,
    sorted: sortColumn(), wrong,
  };
  parent.postMessage(JSON.stringify(found), "*");
}
function sortColumn() {
  const heading = document.querySelectorAll(".first th[scope='col']")[1];
  heading.querySelector("button").click();
  const cells = [...heading.closest("table").tBodies[0].rows].map((row) => row.cells[1]);
  return cells.filter((cell) => cell.dataset.value).map((cell) => Number(cell.dataset.value));
}
// Observers of sizes are called in a frame, which a busy machine may not have drawn when a timer ends.
function ready(tries) {
  const late = [...document.querySelectorAll(".scroll")].some((one) => overflows(one) && one.tabIndex !== 0);
  setTimeout(late && tries ? () => ready(tries - 1) : measure, 300);
}
setTimeout(() => ready(10), 300);
"""


def browse(folder: Path, *options: str, page: str = "page.html") -> str:
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", *options, (folder / page).as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def measured(text: str, folder: Path, width: int, height: int) -> dict[str, Any]:
    """A page in a frame of that size, for a window is never narrower than 500 pixels."""
    policy = r'<meta http-equiv="Content-Security-Policy"[^>]*>'
    text = re.sub(policy, "", text).replace("</body>", f"<script>{MEASURE}</script></body>")
    (folder / "page.html").write_text(text, encoding="utf-8")
    hears = "onmessage = (e) => { const p = document.createElement('pre'); p.id = 'm'; p.textContent = e.data; "
    frame = f"<iframe src=page.html style='border:0;width:{width}px;height:{height}px'></iframe>"
    (folder / "frame.html").write_text(f"{frame}<script>{hears}document.body.append(p) }}</script>", encoding="utf-8")
    shown = browse(folder, "--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom", page="frame.html")
    found = re.search(r'<pre id="m">(.*?)</pre>', shown, re.DOTALL)
    assert found, "the page was not measured"
    values: dict[str, Any] = json.loads(html.unescape(found[1]))
    return values


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (375, 812)])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_screen_holds_the_answer_and_its_table(
    answer_to: Callable[[str], Comparison], question: str, width: int, height: int, tmp_path: Path
) -> None:
    found = measured(render_page(answer_to(question).page()), tmp_path, width, height)
    assert found["wrong"] == []
    assert found["answer"] < found["table"] <= height
    assert found["right"] <= width
    assert not found["sideways"]
    assert found["outside"] == 0
    assert found["stops"] <= 40
    assert found["unreachable"] == 0
    assert found["sorted"] == sorted(found["sorted"])
    if width > 1000:
        assert found["wide"] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_on_paper_there_are_four_pages_at_most(
    answer_to: Callable[[str], Comparison], question: str, tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(render_page(answer_to(question).page()), encoding="utf-8")
    browse(tmp_path, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())
    assert 1 <= len(pages) <= 4
