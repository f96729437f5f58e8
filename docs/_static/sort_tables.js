"use strict";
// Tables with many rows, some columns of which are numbers, get buttons in their headings that sort the rows: upwards,
// downwards, and in the order of the page again. Cells without a number stay last.

const FEWEST_ROWS = 8;
const NUMBER = /^[+-]?\d[\d,]*(\.\d+)?/;

function readNumber(cell) {
  const found = NUMBER.exec(cell.textContent.trim());
  return found ? Number(found[0].replaceAll(",", "")) : null;
}

function readColumn(rows, column) {
  const values = rows.map((row) => readNumber(row.cells[column]));
  const filled = rows.filter((row) => row.cells[column].textContent.trim());
  const isNumeric = filled.length > 0 && values.filter((value) => value !== null).length >= filled.length / 2;
  return isNumeric ? values : null;
}

function compareTexts(one, other) {
  return one.localeCompare(other, "en", { numeric: true });
}

function sortRows(rows, column, direction) {
  if (!direction) return rows;
  const values = readColumn(rows, column);
  const texts = rows.map((row) => row.cells[column].textContent.trim());
  const order = rows.map((_, index) => index);
  order.sort((one, other) => {
    if (!values) return direction * compareTexts(texts[one], texts[other]);
    if (values[one] === null || values[other] === null) return (values[one] === null) - (values[other] === null);
    return direction * (values[one] - values[other]);
  });
  return order.map((index) => rows[index]);
}

function makeSortable(table) {
  const [body] = table.tBodies;
  const headings = [...(table.tHead?.rows[0]?.cells ?? [])];
  const rows = body ? [...body.rows] : [];
  const isWhole = rows.every((row) => row.cells.length === headings.length);
  if (rows.length < FEWEST_ROWS || !isWhole || !headings.some((_, column) => readColumn(rows, column))) return;
  table.classList.add("sortable");
  headings.forEach((heading, column) => {
    if (!heading.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...(heading.querySelector("p") ?? heading).childNodes);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: null }[heading.ariaSort] ?? null;
      const state = heading.ariaSort ? next : "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (state) heading.setAttribute("aria-sort", state);
      body.append(...sortRows(rows, column, { ascending: 1, descending: -1 }[state] ?? 0));
    });
  });
}

document.querySelectorAll("article table").forEach(makeSortable);
