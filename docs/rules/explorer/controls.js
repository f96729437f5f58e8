// The parts of the page around the board.
const root = document.getElementById("rules-explorer");
const parts = {};

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else if (value !== false) created.setAttribute(key, value === true ? "" : value);
  }
  created.append(...children);
  return created;
}

// A row of radio buttons. The options are [value, what it shows].
function choice(name, title, options, choose) {
  const labels = options.map(([value, ...shown]) => {
    const onchange = () => change(() => choose(value));
    const input = element("input", { type: "radio", name: `explorer-${name}`, value, onchange });
    return element("label", {}, input, element("span", {}, ...shown));
  });
  return element("fieldset", { class: `choice ${name}` }, element("legend", {}, title), ...labels);
}

function tick(name, value) {
  const inputs = root.querySelectorAll(`input[name="explorer-${name}"]`);
  for (const input of inputs) input.checked = input.value === String(value);
}

function smallDisc(agent) {
  const disc = moveTo(drawDisc(agent, 15, ""), [16, 16]);
  return shape("svg", { viewBox: "0 0 32 32", class: "badge", "aria-hidden": "true" }, disc);
}

// The arrow points the way that the step goes in the picture.
function moveOption({ name, step: [dx, dy] }, action) {
  const turn = (Math.atan2(dy, dx) * 180) / Math.PI;
  const arrow = { d: "M-8 0H7M1 -6L7 0L1 6", transform: `rotate(${turn})` };
  const sign = dx || dy ? shape("path", arrow) : shape("circle", { r: 3 });
  return [action, shape("svg", { viewBox: "-11 -11 22 22", "aria-hidden": "true" }, sign), name];
}

function agentPanel(agent) {
  const select = element(
    "button",
    { type: "button", class: "select", onclick: () => change(() => void (view.selected = agent)) },
    smallDisc(agent),
    `agent ${agent}`,
  );
  const moves = choice(`move-${agent}`, `Move of agent ${agent}`, table.actions.map(moveOption), action => {
    situation.agents[agent].action = action;
    view.selected = agent;
  });
  const result = element("p", { class: "result" });
  return element("div", { class: "agent", "data-agent": agent }, select, moves, result);
}

function ruleCard(rule) {
  const svg = shape("svg", { "aria-hidden": "true" });
  const button = element(
    "button",
    { type: "button", "data-rule": rule, onclick: () => change(() => void (situation.rule = rule)) },
    element("code", {}, rule),
    svg,
    element("span", { class: "count" }),
    element("span", { class: "outcomes" }),
  );
  return element("li", {}, button);
}

function exampleItem({ title, text, map, agents, rule }) {
  const chosen = agents.map(([x, y, name]) => ({ cell: [x, y], action: actionNamed(name) }));
  const link = element("a", { href: addressOf({ map, rule, agents: chosen }) }, title);
  return element("li", { "data-text": text, "data-rule": rule }, link);
}

function build() {
  parts.complaint = element("p", { class: "complaint", role: "alert", hidden: true });
  parts.examples = element("ul", { class: "examples", "aria-label": "Examples" }, ...table.examples.map(exampleItem));
  parts.about = element("p", { class: "about" });
  const maps = Object.entries(table.maps).map(([name, map]) => [name, map.title]);
  const counts = Array.from({ length: table.mostAgents }, (_, index) => [index + 1, String(index + 1)]);
  const settings = element(
    "div",
    { class: "settings" },
    choice("map", "Map", maps, chooseMap),
    choice("agents", "Agents", counts, chooseCount),
    choice("rule", "collisions", table.rules.map(rule => [rule, rule]), rule => {
      situation.rule = rule;
    }),
  );
  parts.svg = shape("svg", { "aria-hidden": "true" });
  parts.grid = element("div", { class: "grid", role: "grid", onkeydown: steer });
  parts.play = element("button", { type: "button", class: "play", onclick: play }, "Play the step");
  parts.next = element("button", { type: "button", onclick: goOn }, "Go on from here");
  parts.summary = element("p", { class: "summary", role: "status" });
  parts.panels = Array.from({ length: table.mostAgents }, (_, agent) => agentPanel(agent));
  parts.cards = table.rules.map(ruleCard);
  const hint = element(
    "p",
    { class: "hint" },
    "Choose an agent and then a free cell to put it there. Choose its own cell to change its move. ",
    "On the keyboard: arrow keys and Enter on the map, 0 to 2 for the agent. ",
    "The move “up” adds 1 to y, so it goes down in the picture.",
  );
  const board = element(
    "div",
    { class: "stage" },
    element("div", { class: "board" }, parts.svg, parts.grid),
    element("div", { class: "buttons" }, parts.play, parts.next),
    parts.summary,
    hint,
  );
  root.replaceChildren(
    parts.complaint,
    parts.examples,
    parts.about,
    settings,
    element("div", { class: "main" }, board, element("div", { class: "panels" }, ...parts.panels)),
    element("p", { class: "title", id: "explorer-comparison" }, "The same requests under each rule"),
    element("ul", { class: "comparison", "aria-labelledby": "explorer-comparison" }, ...parts.cards),
  );
}

function buildGrid() {
  const { width, height } = table.maps[situation.map];
  const rows = Array.from({ length: height }, (_, y) => {
    const cells = Array.from({ length: width }, (_, x) => {
      const onclick = () => choose([x, y]);
      const button = element("button", { type: "button", tabindex: -1, "data-cell": `${x},${y}`, onclick });
      return element("div", { role: "gridcell" }, button);
    });
    return element("div", { role: "row" }, ...cells);
  });
  parts.grid.replaceChildren(...rows);
  parts.grid.dataset.map = situation.map;
  parts.grid.style.setProperty("--columns", width);
  parts.grid.setAttribute("aria-label", `Map, ${width} columns and ${height} rows`);
  parts.svg.setAttribute("viewBox", `-2 -2 ${width * SIDE + 4} ${height * SIDE + 4}`);
}

const buttonAt = cell => parts.grid.querySelector(`[data-cell="${cell.join()}"]`);
