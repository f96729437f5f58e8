
// Decode what `pack` in replay.py returned: integers (rows, length), one row after the other.
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

// The data of an episode, as functions of agent and step.
function readEpisode(data) {
  const { width, height, agents: numAgents, steps: lastStep } = data;
  const moments = lastStep + 1;
  const series = {};
  for (const name of ["cells", "targets", "present", "arrivals", "outcomes", "refused"]) {
    series[name] = unpack(data[name], numAgents, moments);
  }
  const [distances, rewards] = [data.distances, data.rewards].map(({ values }) => values.map(Number));
  const distancePlaces = unpack(data.distances.places, numAgents, moments);
  const rewardPlaces = unpack(data.rewards.places, moments, numAgents);
  const marked = unpack(data.marked, data.marks.length, moments);
  const badged = unpack(data.badged, data.badges.length, moments);
  const blockers = unpack(data.blockers, numAgents * data.most_blockers, moments);
  const blockedOutcomes = data.outcome_names.map((_, outcome) => data.blocked.includes(outcome));

  const isPresent = (agent, step) => series.present[agent * moments + step] === 1;
  const arrivalsOf = (agent, step) => series.arrivals[agent * moments + step];
  const outcomeOf = (agent, step) => series.outcomes[agent * moments + step];
  const distanceOf = (agent, step) => distances[distancePlaces[agent * moments + step]];
  // The reset is no move.
  const isBlocked = (agent, step) => step > 0 && blockedOutcomes[outcomeOf(agent, step)];
  return {
    data,
    lastStep,
    walls: unpack(data.walls, 1, width * height),
    cellOf: (agent, step) => series.cells[agent * moments + step],
    targetOf: (agent, step) => series.targets[agent * moments + step],
    isPresent,
    arrivalsOf,
    outcomeOf,
    distanceOf,
    isSettled: (agent, step) => data.has_targets && isPresent(agent, step) && distanceOf(agent, step) === 0,
    // The marks of a game: cell, colour, colour of the letter, letter.
    marksAt: step => data.marks.filter((_, row) => marked[row * moments + step] === 1),
    // The badges of a game: agent, corners of an arrow, colour of what it holds, colour of the letter, letter.
    badgesAt: step => data.badges.filter((_, row) => badged[row * moments + step] === 1),
    rewardOf: (agent, step) => rewards[rewardPlaces[step * numAgents + agent]],
    isBlocked,
    isDelayed: (agent, step) => data.outcome_names[outcomeOf(agent, step)] === "delayed",
    // The way that a refused move would have gone, in cells, or null: it was not refused, or is not known.
    refusedMove: (agent, step) => data.moves[series.refused[agent * moments + step] - 1] ?? null,
    blockersOf(agent, step) {
      const found = [];
      for (let row = agent * data.most_blockers; row < (agent + 1) * data.most_blockers; row++) {
        const blocker = blockers[row * moments + step];
        if (blocker > 0) found.push(blocker - 1);
      }
      return found;
    },
    // An arrival, or a refused move unless it is refused like the one before.
    isEvent: (agent, step) =>
      step <= lastStep &&
      (arrivalsOf(agent, step) > arrivalsOf(agent, step - 1) ||
        (isBlocked(agent, step) && outcomeOf(agent, step) !== outcomeOf(agent, step - 1))),
  };
}

// One episode, or two of one layout, which are shown side by side in step.
const episodes = Array.from(document.querySelectorAll("script[type='application/json']"), element =>
  readEpisode(JSON.parse(element.textContent)),
);
const { width, height, agents: numAgents, palettes } = episodes[0].data;
const isComparison = episodes.length > 1;
const lastStep = Math.max(...episodes.map(episode => episode.lastStep));
const letters = ["A", "B"];
const columnOf = cell => cell % width;
const rowOf = cell => Math.floor(cell / width);

// The state that all parts of the page read. A time of 2.5 is half-way from step 2 to step 3. An agent is followed and
// hovered in both episodes; the details are of one: the one under the pointer, or the one chosen last.
const state = { time: 0, playing: false, speed: 4, followed: -1, hovered: -1, chosen: 0, pointed: -1 };
const focus = () => (state.hovered >= 0 ? state.hovered : state.followed);
const detailed = () => (state.pointed >= 0 ? state.pointed : state.chosen);
// An episode that has ended stays at its last step.
const timeIn = episode => Math.min(state.time, episode.lastStep);
// The step whose move is being made, or was made last.
const stepAt = time => (calm.matches ? Math.floor(time) : Math.ceil(time));
const currentStep = () => stepAt(state.time);
const stepIn = episode => stepAt(timeIn(episode));
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
