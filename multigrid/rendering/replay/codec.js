
// What packing.py has written: integers (rows, length), one row after the other.
function unpack(text, rows, length) {
  const bytes = atob(text);
  const values = new Int32Array(rows * length);
  let position = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes.charCodeAt(position++);
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  let zeros = 0;
  for (let row = 0, at = 0; row < rows; row++) {
    let value = 0;
    for (let column = 0; column < length; column++) {
      if (zeros > 0) zeros--;
      else {
        const code = number();
        if (code === 0) zeros = number();
        else value += code % 2 ? -(code + 1) / 2 : code / 2;
      }
      values[at++] = value;
    }
  }
  return values;
}

const data = JSON.parse(document.getElementById("episode").textContent);
const { width, height, agents: numAgents, steps: lastStep } = data;
const moments = lastStep + 1;
const series = {};
for (const name of ["cells", "targets", "present", "arrivals", "outcomes", "refused"]) {
  series[name] = unpack(data[name], numAgents, moments);
}
const distancePlaces = unpack(data.distances.places, numAgents, moments);
const rewardPlaces = unpack(data.rewards.places, moments, numAgents);
const blockers = unpack(data.blockers, numAgents * data.most_blockers, moments);
const walls = unpack(data.walls, 1, width * height);

const cellOf = (agent, step) => series.cells[agent * moments + step];
const targetOf = (agent, step) => series.targets[agent * moments + step];
const isPresent = (agent, step) => series.present[agent * moments + step] === 1;
const arrivalsOf = (agent, step) => series.arrivals[agent * moments + step];
const outcomeOf = (agent, step) => series.outcomes[agent * moments + step];
const distanceOf = (agent, step) => data.distances.values[distancePlaces[agent * moments + step]];
const isSettled = (agent, step) => isPresent(agent, step) && distanceOf(agent, step) === 0;
const rewardOf = (agent, step) => data.rewards.values[rewardPlaces[step * numAgents + agent]];
const columnOf = cell => cell % width;
const rowOf = cell => Math.floor(cell / width);

const blockedOutcomes = data.outcome_names.map((_, outcome) => data.blocked.includes(outcome));
// The reset is no move.
const isBlocked = (agent, step) => step > 0 && blockedOutcomes[outcomeOf(agent, step)];
// The way that a refused move would have gone, in cells, or null: it was not refused, or is not known.
const refusedMove = (agent, step) => data.moves[series.refused[agent * moments + step] - 1] ?? null;
function blockersOf(agent, step) {
  const found = [];
  for (let row = agent * data.most_blockers; row < (agent + 1) * data.most_blockers; row++) {
    const blocker = blockers[row * moments + step];
    if (blocker > 0) found.push(blocker - 1);
  }
  return found;
}
// An arrival, or a refused move unless it is refused like the one before.
const isEvent = (agent, step) =>
  arrivalsOf(agent, step) > arrivalsOf(agent, step - 1) ||
  (isBlocked(agent, step) && outcomeOf(agent, step) !== outcomeOf(agent, step - 1));

// What all parts of the page look at. A time of 2.5 is half-way from step 2 to step 3.
const state = { time: 0, playing: false, speed: 4, followed: -1, hovered: -1 };
const focus = () => (state.hovered >= 0 ? state.hovered : state.followed);
// The step whose move is being made, or was made last.
const currentStep = () => (calm.matches ? Math.floor(state.time) : Math.ceil(state.time));
const byId = id => document.getElementById(id);

// A colour of page.css, as the canvas wants it, in the scheme of the moment.
function themeColour(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
