"use strict";
// Without scripts the page is unsorted, with every column, but without the rows of its longest tables.
for (const rows of document.querySelectorAll("script.rows")) {
  rows.parentNode.addEventListener("toggle", () => fill(rows), { once: true });
}
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
  button.addEventListener("click", () => download(stored));
  document.querySelector(".download").append(button);
}

function unfolded(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

// Rows of a long table lie in the page like the answer, until its fold is opened.
async function fill(packed) {
  const { kinds, texts, values } = await unfolded(packed).json();
  const table = packed.parentNode.querySelector("table");
  const headings = [...table.tHead.rows[0].cells];
  const rows = kinds.map((kind, place) => {
    const row = document.createElement("tr");
    row.className = kind;
    headings.forEach((heading, k) => {
      const cell = document.createElement(k || heading.className ? "td" : "th");
      if (cell.tagName === "TH") cell.scope = "row";
      cell.className = heading.className || (texts[k][place].length > 48 ? "long" : "");
      if (values[k][place]) cell.dataset.value = values[k][place];
      cell.textContent = texts[k][place];
      row.append(cell);
    });
    return row;
  });
  table.tBodies[0].append(...rows);
}

async function download(packed) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await unfolded(packed).blob());
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
