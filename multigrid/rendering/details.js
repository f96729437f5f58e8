
// The panel beside the worlds: the figures of the episodes, and the outcomes of one agent's moves.
const figure = value => String(Number(value.toFixed(3)));
const agentName = agent => `agent_${agent}`;
const cellName = cell => `${columnOf(cell)}, ${rowOf(cell)}`;

function make(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

// Rows of a name, its values, and what it means or nothing.
function fillList(list, rows) {
  list.replaceChildren(
    ...rows.flatMap(([name, values, meaning]) => {
      const term = make("dt", name);
      if (meaning) term.title = meaning;
      return [term, ...values.map(value => make("dd", value))];
    }),
  );
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
if (isComparison) byId("episode-heading").textContent = "Episodes";
// What two episodes have in common is said once.
const each = value => [...new Set(episodes.map(value))].join(" and ");
const hasTargets = episodes.some(({ data }) => data.has_targets);
const isGame = episodes.some(({ data }) => data.game !== null);
document.body.classList.toggle("aimless", !hasTargets);
document.body.classList.toggle("undelayed", !episodes.some(({ data }) => data.has_delays));
byId("facts").textContent =
  (isGame ? `${each(({ data }) => data.game ?? "path finding")}: ` : "") +
  `${plural(numAgents, "agent")} on ${width} \u00d7 ${height} cells, ` +
  `${each(episode => episode.lastStep)} ${episodes.every(episode => episode.lastStep === 1) ? "step" : "steps"}` +
  (episodes.some(({ data }) => data.rules.collisions)
    ? `; collisions ${each(({ data }) => data.rules.collisions ?? "of the game")}` : "") +
  (hasTargets ? `, on target ${each(episode => episode.data.rules.on_target)}` : "");

const verdicts = isComparison ? captions.map(caption => caption.querySelector("a")) : [byId("verdict")];
episodes.forEach(({ data }, index) => {
  const world = `A grid of ${width} by ${height} cells with ${plural(numAgents, "agent")}`;
  scenes[index].canvas.setAttribute("aria-label", isComparison ? `${letters[index]}, ${data.name}: ${world}` : world);
  const verdict = verdicts[index];
  verdict.textContent = data.verdict.text;
  if (data.verdict.solved !== null) verdict.classList.add(data.verdict.solved ? "solved" : "unsolved");
  verdict.href = `#step=${data.verdict.step}`;
  captions[index].querySelector("span").textContent = data.name;
});

// The outcome of a move, and the agents that blocked it.
function outcomeText({ data, outcomeOf, blockersOf }, agent, step) {
  const name = data.outcome_names[outcomeOf(agent, step)];
  const others = blockersOf(agent, step);
  return others.length ? `${name} ${name === "occupied" ? "by" : "with"} ${others.join(", ")}` : name;
}

// The cell after a move; for a refused one also the requested cell.
function moveText({ cellOf, refusedMove }, agent, step) {
  const cell = cellOf(agent, step);
  const move = refusedMove(agent, step);
  return move ? `${cellName(cell)} \u2192 ${columnOf(cell) + move[0]}, ${rowOf(cell) + move[1]}` : cellName(cell);
}

// Metrics that the rules of one of two episodes do not define have no value there.
const metrics = new Map(episodes.flatMap(({ data }) => data.metrics.map(([label, , meaning]) => [label, meaning])));
const metricOf = ({ data }, label) => data.metrics.find(([name]) => name === label)?.[1];
const orNone = value => (value === undefined ? "\u2013" : figure(value));
fillList(byId("metrics"), [
  ...(isComparison ? [["", letters]] : []),
  ...[...metrics].map(([label, meaning]) => [label, episodes.map(episode => orNone(metricOf(episode, label))), meaning]),
]);

function countSettled({ data, isPresent, isSettled }, step) {
  if (data.rules.on_target === "restart" || !data.has_targets) return undefined;
  let [there, present] = [0, 0];
  for (let agent = 0; agent < numAgents; agent++) {
    present += isPresent(agent, step);
    there += isSettled(agent, step);
  }
  return `${there} of ${present}`;
}

function showNow() {
  const steps = episodes.map(stepIn);
  const settled = episodes.map((episode, index) => countSettled(episode, steps[index]));
  const arrived = counts.map(({ arrivalsBy }, index) => arrivalsBy[steps[index]]);
  const rows = hasTargets ? [["arrivals so far", arrived.map(String)]] : [];
  if (settled.some(text => text)) rows.push(["on their targets", settled.map(text => text ?? "\u2013")]);
  rows.push(["blocked in this step", counts.map(({ refusals }, index) => String(refusals[steps[index]]))]);
  if (isGame) rows.push(["rewards so far", episodes.map((episode, index) => figure(rewardOfAll(episode, steps[index])))]);
  fillList(byId("now"), rows);
  const step = currentStep();
  byId("clock").replaceChildren(make("span", `step ${step}`), make("small", ` / ${lastStep}`));
  const arrivals = arrived.map(count => plural(count, "arrival")).join(" and ");
  scrub.setAttribute("aria-valuetext", `step ${step} of ${lastStep}, ${arrivals}`);
}

const follow = byId("follow");
for (let agent = 0; agent < numAgents; agent++) follow.append(new Option(agentName(agent), agent));

// Warm colours for refused moves, cold ones for all others.
const outcomeColours = {
  moved: "#4a9d78", stayed: "#9aa1ac", edge: "#e0a33a", wall: "#b8743a", occupied: "#d9534f", contested: "#b23a7a",
  swap: "#7d4fb3", parked: "#c9ced6", delayed: "#5b7fb5",
};
const outcomeColour = ({ data }, outcome) => outcomeColours[data.outcome_names[outcome]];
const shownMoves = 6;
let rewardsOf = { episode: null, agent: -1, sums: null };

function rewardUpTo(episode, agent, step) {
  if (rewardsOf.episode !== episode || rewardsOf.agent !== agent) {
    const sums = new Float64Array(episode.lastStep + 1);
    for (let at = 1; at <= episode.lastStep; at++) sums[at] = sums[at - 1] + episode.rewardOf(agent, at);
    rewardsOf = { episode, agent, sums };
  }
  return rewardsOf.sums[step];
}

function rewardOfAll(episode, step) {
  let sum = 0;
  for (let agent = 0; agent < numAgents; agent++) {
    for (let at = 1; at <= step; at++) sum += episode.rewardOf(agent, at);
  }
  return sum;
}

const choices = Array.from(byId("choices").querySelectorAll("button"));

function showAgent() {
  const agent = focus();
  const episode = episodes[detailed()];
  const step = stepIn(episode);
  byId("details").hidden = agent < 0;
  byId("choices").hidden = agent < 0;
  choices.forEach((choice, index) => choice.setAttribute("aria-pressed", String(index === detailed())));
  follow.value = String(agent);
  if (agent < 0) return;
  const gone = !episode.isPresent(agent, step);
  const aims = [
    ["target", [cellName(episode.targetOf(agent, step))]],
    ["distance", [gone ? "\u2013" : figure(episode.distanceOf(agent, step))]],
    ["arrivals", [String(episode.arrivalsOf(agent, step))]],
  ];
  fillList(byId("figures"), [
    ["cell", [gone ? "has left" : cellName(episode.cellOf(agent, step))]],
    ...(episode.data.has_targets ? aims : []),
    ["reward so far", [figure(rewardUpTo(episode, agent, step))]],
  ]);
  drawStrip(episode, agent, step);
  showCounts(episode, agent, step);
  showMoves(episode, agent, step);
}

// All moves of the agent from left to right; later ones than this step are pale.
function drawStrip(episode, agent, step) {
  const strip = byId("strip");
  const wide = (strip.width = Math.round(strip.clientWidth * devicePixelRatio));
  const tall = (strip.height = Math.round(strip.clientHeight * devicePixelRatio));
  const brush = strip.getContext("2d");
  // Over time as the timeline: a shorter episode ends earlier.
  for (let at = 1; at <= episode.lastStep; at++) {
    if (!episode.isPresent(agent, at - 1)) break;
    brush.globalAlpha = at <= step ? 1 : 0.3;
    brush.fillStyle = outcomeColour(episode, episode.outcomeOf(agent, at));
    const left = Math.floor(((at - 1) / lastStep) * wide);
    brush.fillRect(left, 0, Math.max(1, Math.floor((at / lastStep) * wide) - left), tall);
  }
  strip.setAttribute("aria-label", `The outcomes of ${agentName(agent)}'s moves over time`);
}

function showCounts(episode, agent, step) {
  const names = episode.data.outcome_names;
  const times = names.map(() => 0);
  for (let at = 1; at <= step; at++) if (episode.isPresent(agent, at - 1)) times[episode.outcomeOf(agent, at)]++;
  const items = times.map((count, outcome) => {
    const [item, spot] = [document.createElement("li"), document.createElement("i")];
    spot.style.background = outcomeColour(episode, outcome);
    item.append(spot, `${names[outcome]} ${count}`);
    return item;
  });
  byId("counts").replaceChildren(...items.filter((_, outcome) => times[outcome] > 0));
}

function showMoves(episode, agent, step) {
  const rows = [];
  for (let at = step; at > Math.max(0, step - shownMoves); at--) {
    const row = document.createElement("tr");
    const there = episode.isPresent(agent, at - 1);
    const texts = there
      ? [at, outcomeText(episode, agent, at), moveText(episode, agent, at), figure(episode.rewardOf(agent, at))]
      : [at, "has left", "", ""];
    for (const text of texts) row.insertCell().textContent = text;
    if (there && episode.isBlocked(agent, at)) row.cells[1].className = "refused";
    rows.push(row);
  }
  while (rows.length < shownMoves) {
    const row = document.createElement("tr");
    row.insertCell().colSpan = 4;
    rows.push(row);
  }
  byId("moves").replaceChildren(...rows);
}
