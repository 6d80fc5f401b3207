"use strict";
// Without scripts the page is complete: unsorted, with every column and every table open to the mouse alone.
for (const table of document.querySelectorAll("table.sortable")) sortable(table);
for (const table of document.querySelectorAll("table:has(.more)")) compact(table);
for (const region of document.querySelectorAll(".scroll")) new ResizeObserver(() => reachable(region)).observe(region);

// Headings sort their table; it is one stop of the keyboard, in which arrows lead from heading to heading.
function sortable(table) {
  const buttons = [...table.tHead.rows[0].cells].map((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.tabIndex = place ? -1 : 0;
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(heading));
    return button;
  });
  table.tHead.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const shown = buttons.filter((button) => button.offsetParent);
    const next = shown[shown.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  });
}

function sortBy(heading) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = heading.closest("table").tBodies[0];
  const rows = [...body.rows].map((row) => [keyOf(row.cells[heading.cellIndex]), row]);
  rows.sort(([a], [b]) => compare(a, b) * (down ? -1 : 1));
  body.append(...rows.map(([, row]) => row));
}

// Numbers by their value, whatever their cell says of them; nothing comes after them, words among words.
function keyOf(cell) {
  const text = cell.textContent.trim();
  return "value" in cell.dataset ? Number(cell.dataset.value) : text === "–" || text === "undefined" ? "\uffff" : text;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a === b ? 0 : a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b);
}

// Columns beyond the first open on a click.
function compact(table) {
  const button = document.createElement("button");
  const columns = table.tHead.rows[0].cells.length - 1;
  button.type = "button";
  button.className = "action";
  const turn = (closed) => {
    table.classList.toggle("compact", closed);
    button.setAttribute("aria-expanded", String(!closed));
    button.textContent = closed ? `Show all ${columns} columns` : "Show fewer columns";
  };
  turn(true);
  button.addEventListener("click", () => turn(!table.classList.contains("compact")));
  table.closest(".scroll").after(button);
}

// The answer lies in the page, compressed; a button saves it.
for (const stored of document.querySelectorAll("#stored-answer")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "action";
  button.textContent = "Download the answer (JSON)";
  button.addEventListener("click", () => download(stored.textContent));
  document.querySelector(".download").append(button);
}

async function download(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const unfolded = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await new Response(unfolded).blob());
  link.download = "answer.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// A region is a stop of the keyboard where it scrolls.
function reachable(region) {
  const scrolls = region.scrollWidth > region.clientWidth + 1 || region.scrollHeight > region.clientHeight + 1;
  const name = region.querySelector("caption")?.textContent ?? region.parentNode.textContent.trim().slice(0, 80);
  const attributes = { tabindex: "0", role: "region", "aria-label": name };
  for (const [key, value] of Object.entries(attributes)) scrolls ? region.setAttribute(key, value) : region.removeAttribute(key);
}

// What is printed of a folded part is opened for paper.
addEventListener("beforeprint", () => (document.querySelector("#computed details").open = true));
addEventListener("afterprint", () => (document.querySelector("#computed details").open = false));
