"use strict";
// Headings sort their table; without scripts the page is complete, only unsorted.
for (const heading of document.querySelectorAll("table.sortable thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);
  button.addEventListener("click", () => sortBy(heading));
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

// Folded parts are opened for paper.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
