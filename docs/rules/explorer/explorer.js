// What follows from what the reader does.
function sentence(result) {
  return `${result.name === "moved" ? "goes to" : "remains in"} ${inWords(result.cell)}.`;
}

function showCells(results) {
  const shown = view.after ? results.map(result => result.cell) : situation.agents.map(agent => agent.cell);
  for (const button of parts.grid.querySelectorAll("button")) {
    const cell = button.dataset.cell.split(",").map(Number);
    const there = shown.flatMap((other, agent) => (isAt(cell, other) ? [agent] : []));
    const words = there.map(agent => `agent ${agent}, requests ${table.actions[situation.agents[agent].action].name}`);
    const empty = cellIndex(situation.map, cell) < 0 ? "wall" : "free";
    button.setAttribute("aria-label", `${inWords(cell)}: ${words.join("; ") || empty}`);
  }
  if (!parts.grid.querySelector('[tabindex="0"]')) buttonAt(situation.agents[view.selected].cell).tabIndex = 0;
}

function showPanels(results) {
  parts.panels.forEach((panel, agent) => {
    panel.hidden = agent >= results.length;
    if (panel.hidden) return;
    const result = results[agent];
    tick(`move-${agent}`, situation.agents[agent].action);
    panel.classList.toggle("chosen", agent === view.selected);
    panel.querySelector(".select").setAttribute("aria-pressed", agent === view.selected);
    const line = panel.querySelector(".result");
    line.classList.toggle("refused", result.refused);
    const meaning = element("span", {}, result.meaning);
    line.replaceChildren(element("b", {}, `${result.name}:`), ` ${sentence(result)} `, meaning);
  });
}

function showCards() {
  parts.cards.forEach((card, index) => {
    const rule = table.rules[index];
    const results = answer(situation, rule);
    const button = card.firstElementChild;
    const svg = button.querySelector("svg");
    svg.setAttribute("viewBox", parts.svg.getAttribute("viewBox"));
    drawAfter(svg, situation, results);
    button.setAttribute("aria-pressed", rule === situation.rule);
    button.querySelector(".count").textContent = `${numMoved(results)} of ${results.length} move`;
    const lines = results.map(({ name, refused }, agent) => {
      const whose = element("span", { class: "unseen" }, `agent ${agent} `);
      return element("span", { class: refused ? "refused" : "" }, smallDisc(agent), whose, name);
    });
    button.querySelector(".outcomes").replaceChildren(...lines);
  });
}

function showExample() {
  parts.about.textContent = "A situation of your own.";
  for (const item of parts.examples.children) {
    const link = item.firstElementChild;
    // Whatever the rule: under another one it is still the example.
    const isShown = link.getAttribute("href") === addressOf({ ...situation, rule: item.dataset.rule });
    if (isShown) parts.about.textContent = item.dataset.text;
    if (isShown) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function show(message = "") {
  if (parts.grid.dataset.map !== situation.map) buildGrid();
  const results = answer(situation, situation.rule);
  tick("map", situation.map);
  tick("agents", situation.agents.length);
  tick("rule", situation.rule);
  const motion = view.after ? drawAfter(parts.svg, situation, results) : drawBefore(parts.svg, situation, results);
  showCells(results);
  showPanels(results);
  showCards();
  showExample();
  const isShared = new Set(results.map(result => result.cell.join())).size < results.length;
  parts.play.textContent = view.after ? "Back" : "Play the step";
  parts.next.disabled = !view.after || isShared;
  parts.next.title = isShared ? "Agents share a cell, and the explorer has no answers for that." : "";
  const all = results.map((result, agent) => `agent ${agent}: ${result.name}, ${sentence(result)}`);
  const moved = numMoved(results);
  parts.summary.replaceChildren(
    message || `${situation.rule}: ${moved} of ${results.length} ${moved === 1 ? "moves" : "move"}.`,
    element("span", { class: "unseen" }, message ? "" : ` ${all.join(" ")}`),
  );
  root.dataset.shown = addressOf(situation);
  return { results, motion };
}

// Do what the reader asks for, show it, and keep the address up to date. `act` may return a message.
function change(act) {
  view.after = false;
  const message = act();
  parts.complaint.hidden = true;
  show(message);
  history.replaceState(null, "", addressOf(situation));
}

function choose(cell) {
  const button = buttonAt(cell);
  for (const other of parts.grid.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
  button.tabIndex = 0;
  change(() => chooseCell(cell));
}

function steer(event) {
  const [x, y] = event.target.dataset.cell.split(",").map(Number);
  const { width, height } = table.maps[situation.map];
  const arrows = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const steps = { ...arrows, Home: [-x, 0], End: [width - 1 - x, 0] };
  if (Object.hasOwn(steps, event.key)) {
    const [dx, dy] = steps[event.key];
    const next = buttonAt([Math.min(width - 1, Math.max(0, x + dx)), Math.min(height - 1, Math.max(0, y + dy))]);
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (/^\d$/.test(event.key) && Number(event.key) < situation.agents.length) {
    change(() => {
      view.selected = Number(event.key);
      return `Agent ${event.key} is selected.`;
    });
  } else return;
  event.preventDefault();
}

function play() {
  view.after = !view.after;
  const { results, motion } = show();
  if (view.after) animateStep(motion, situation, results);
}

function goOn() {
  const results = answer(situation, situation.rule);
  change(() => {
    for (const [agent, result] of results.entries()) situation.agents[agent].cell = result.cell;
  });
  parts.play.focus();
}

// Show the situation of the address. Other anchors of the page are not the explorer's.
function openAddress() {
  if (!location.hash.startsWith(PREFIX)) return false;
  try {
    Object.assign(situation, readAddress(decodeURIComponent(location.hash)));
  } catch (error) {
    const why = error instanceof URIError ? "it is cut off" : error.message;
    parts.complaint.textContent = `The link does not lead to a situation: ${why}.`;
    parts.complaint.hidden = false;
    return false;
  }
  parts.complaint.hidden = true;
  Object.assign(view, { selected: 0, after: false });
  return true;
}

async function start() {
  if (!window.DecompressionStream) {
    root.textContent = "This browser is too old for the explorer: it cannot unpack the answers.";
    return;
  }
  await unpackAnswers();
  build();
  Object.assign(situation, readAddress(parts.examples.querySelector("a").getAttribute("href")));
  const isLinked = openAddress();
  show();
  // The page has grown since the browser went to an anchor below.
  const anchor = isLinked ? root : document.getElementById(location.hash.slice(1));
  anchor?.scrollIntoView({ behavior: "instant" });
  addEventListener("hashchange", () => openAddress() && show());
}

start();
