
// The panel beside the world: the figures of the episode, and what became of one agent's moves.
const figure = value => String(Number(value.toFixed(3)));
const agentName = agent => `agent_${agent}`;
const cellName = cell => `${columnOf(cell)}, ${rowOf(cell)}`;

function fillList(list, rows) {
  list.replaceChildren(
    ...rows.flatMap(([name, value, title]) => {
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      [term.textContent, text.textContent] = [name, value];
      if (title) term.title = title;
      return [term, text];
    }),
  );
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
byId("facts").textContent =
  `${plural(numAgents, "agent")} on ${width} \u00d7 ${height} cells, ${plural(lastStep, "step")}; ` +
  `collisions ${data.rules.collisions}, on target ${data.rules.on_target}`;
canvas.setAttribute("aria-label", `A grid of ${width} by ${height} cells with ${plural(numAgents, "agent")}`);

const verdict = byId("verdict");
verdict.textContent = data.verdict.text;
verdict.className = data.verdict.solved ? "solved" : "unsolved";
verdict.href = `#step=${data.verdict.step}`;

// What became of a move, and by whom or with whom.
function outcomeText(agent, step) {
  const name = data.outcome_names[outcomeOf(agent, step)];
  const others = blockersOf(agent, step);
  return others.length ? `${name} ${name === "occupied" ? "by" : "with"} ${others.join(", ")}` : name;
}

// The cell after a move; for a refused one also the cell that the agent asked for.
function moveText(agent, step) {
  const cell = cellOf(agent, step);
  const move = refusedMove(agent, step);
  return move ? `${cellName(cell)} \u2192 ${columnOf(cell) + move[0]}, ${rowOf(cell) + move[1]}` : cellName(cell);
}

const restart = data.rules.on_target === "restart";
fillList(byId("metrics"), data.metrics.map(([label, value, meaning]) => [label, figure(value), meaning]));

function showNow() {
  const step = currentStep();
  let [there, present] = [0, 0];
  for (let agent = 0; agent < numAgents; agent++) {
    present += isPresent(agent, step);
    there += isSettled(agent, step);
  }
  const rows = [["arrivals so far", String(arrivalsBy[step])]];
  if (!restart) rows.push(["on their targets", `${there} of ${present}`]);
  rows.push(["blocked in this step", String(refusals[step])]);
  fillList(byId("now"), rows);
  byId("clock").innerHTML = "";
  const [label, total] = [document.createElement("span"), document.createElement("small")];
  [label.textContent, total.textContent] = [`step ${step}`, ` / ${lastStep}`];
  byId("clock").append(label, total);
  scrub.setAttribute("aria-valuetext", `step ${step} of ${lastStep}, ${plural(arrivalsBy[step], "arrival")}`);
}

const follow = byId("follow");
for (let agent = 0; agent < numAgents; agent++) follow.append(new Option(agentName(agent), agent));

// Refusals in the warm half of the circle, what went well or was meant in the cold one.
const outcomeColours = {
  moved: "#4a9d78", stayed: "#9aa1ac", edge: "#e0a33a", wall: "#b8743a", occupied: "#d9534f", contested: "#b23a7a",
  swap: "#7d4fb3", parked: "#c9ced6",
};
const outcomeColour = outcome => outcomeColours[data.outcome_names[outcome]];
const shownMoves = 6;
let rewardsOf = { agent: -1, sums: null };

function rewardUpTo(agent, step) {
  if (rewardsOf.agent !== agent) {
    const sums = new Float64Array(moments);
    for (let at = 1; at < moments; at++) sums[at] = sums[at - 1] + rewardOf(agent, at);
    rewardsOf = { agent, sums };
  }
  return rewardsOf.sums[step];
}

function showAgent() {
  const agent = focus();
  const step = currentStep();
  byId("details").hidden = agent < 0;
  follow.value = String(agent);
  if (agent < 0) return;
  const gone = !isPresent(agent, step);
  fillList(byId("figures"), [
    ["cell", gone ? "has left" : cellName(cellOf(agent, step))],
    ["target", cellName(targetOf(agent, step))],
    ["distance", gone ? "\u2013" : figure(distanceOf(agent, step))],
    ["arrivals", String(arrivalsOf(agent, step))],
    ["reward so far", figure(rewardUpTo(agent, step))],
  ]);
  drawStrip(agent, step);
  showCounts(agent, step);
  showMoves(agent, step);
}

// All moves of the agent from left to right, those to come pale.
function drawStrip(agent, step) {
  const strip = byId("strip");
  const wide = (strip.width = Math.round(strip.clientWidth * devicePixelRatio));
  const tall = (strip.height = Math.round(strip.clientHeight * devicePixelRatio));
  const brush = strip.getContext("2d");
  for (let at = 1; at < moments; at++) {
    if (!isPresent(agent, at - 1)) break;
    brush.globalAlpha = at <= step ? 1 : 0.3;
    brush.fillStyle = outcomeColour(outcomeOf(agent, at));
    const left = Math.floor(((at - 1) / lastStep) * wide);
    brush.fillRect(left, 0, Math.max(1, Math.floor((at / lastStep) * wide) - left), tall);
  }
  strip.setAttribute("aria-label", `The outcomes of ${agentName(agent)}'s moves over time`);
}

function showCounts(agent, step) {
  const counts = data.outcome_names.map(() => 0);
  for (let at = 1; at <= step; at++) if (isPresent(agent, at - 1)) counts[outcomeOf(agent, at)]++;
  const items = counts.map((count, outcome) => {
    const [item, spot] = [document.createElement("li"), document.createElement("i")];
    spot.style.background = outcomeColour(outcome);
    item.append(spot, `${data.outcome_names[outcome]} ${count}`);
    return item;
  });
  byId("counts").replaceChildren(...items.filter((_, outcome) => counts[outcome] > 0));
}

function showMoves(agent, step) {
  const rows = [];
  for (let at = step; at > Math.max(0, step - shownMoves); at--) {
    const row = document.createElement("tr");
    const there = isPresent(agent, at - 1);
    const texts = there
      ? [at, outcomeText(agent, at), moveText(agent, at), figure(rewardOf(agent, at))]
      : [at, "has left", "", ""];
    for (const text of texts) row.insertCell().textContent = text;
    if (there && isBlocked(agent, at)) row.cells[1].className = "refused";
    rows.push(row);
  }
  while (rows.length < shownMoves) {
    const row = document.createElement("tr");
    row.insertCell().colSpan = 4;
    rows.push(row);
  }
  byId("moves").replaceChildren(...rows);
}
