
// Below the worlds: in each step, how many agents arrived (bars up) and how many were refused their move (bars down);
// of two episodes in two lanes, one below the other.
const marks = byId("marks");
const scrub = byId("scrub");

function countEvents({ lastStep, arrivalsOf, isBlocked }) {
  const [arrivalsBy, newArrivals, refusals] = [0, 1, 2].map(() => new Int32Array(lastStep + 1));
  for (let step = 0; step <= lastStep; step++) {
    for (let agent = 0; agent < numAgents; agent++) {
      arrivalsBy[step] += arrivalsOf(agent, step);
      refusals[step] += isBlocked(agent, step);
    }
    newArrivals[step] = step > 0 ? arrivalsBy[step] - arrivalsBy[step - 1] : 0;
  }
  return { arrivalsBy, newArrivals, refusals };
}
const counts = episodes.map(countEvents);
const largest = name => Math.max(1, ...counts.map(count => count[name].reduce((most, value) => Math.max(most, value))));
const reaches = { arrivals: largest("newArrivals"), refusals: largest("refusals") };

// The slider's thumb is 12 pixels wide and stays within the slider, so the steps begin and end 6 pixels inside it.
const INSET = 6;

function drawMarks() {
  const ratio = devicePixelRatio;
  marks.width = Math.round(marks.clientWidth * ratio);
  marks.height = Math.round(marks.clientHeight * ratio);
  const tall = Math.floor(marks.height / episodes.length);
  episodes.forEach((episode, lane) => drawLane(episode, counts[lane], lane * tall, tall));
}

function drawLane(episode, { newArrivals, refusals }, top, tall) {
  const ratio = devicePixelRatio;
  const brush = marks.getContext("2d");
  const inset = INSET * ratio;
  const pitch = (marks.width - 2 * inset) / Math.max(1, lastStep);
  const axis = top + tall / 2;
  // Narrow bars stand side by side on whole pixels; wide ones are centred on their step, with room between them.
  const bar = pitch < 4 ? Math.max(1, Math.ceil(pitch)) : clamp(pitch * 0.7, 3, 8 * ratio);
  const at = step => Math.round(inset + step * pitch - bar / 2);
  brush.fillStyle = inks.edge;
  brush.fillRect(inset, axis - ratio / 2, lastStep ? episode.lastStep * pitch : marks.width - 2 * inset, ratio);
  const bars = (heights, reach, up, colour) => {
    brush.fillStyle = colour;
    for (let step = 0; step <= episode.lastStep; step++) {
      if (heights[step] === 0) continue;
      const length = Math.max(3 * ratio, (heights[step] / reach) * (tall / 2 - 8 * ratio));
      brush.fillRect(at(step), up ? axis - 2 * ratio - length : axis + 2 * ratio, bar, length);
    }
  };
  // The step that the verdict names.
  const { verdict } = episode.data;
  brush.fillStyle = verdict.solved === null ? inks.ink : verdict.solved ? inks.arrival : inks.blocked;
  for (let dash = 0; dash < tall; dash += 5 * ratio) {
    brush.fillRect(Math.round(inset + verdict.step * pitch), top + dash, ratio, 3 * ratio);
  }
  const marked = focus();
  brush.globalAlpha = marked >= 0 ? 0.3 : 1;
  bars(newArrivals, reaches.arrivals, true, inks.arrival);
  bars(refusals, reaches.refusals, false, inks.blocked);
  brush.globalAlpha = 1;
  if (marked < 0) return;
  for (let step = 1; step <= episode.lastStep; step++) {
    const arrived = episode.arrivalsOf(marked, step) > episode.arrivalsOf(marked, step - 1);
    if (arrived || episode.isBlocked(marked, step)) {
      brush.fillStyle = arrived ? inks.arrival : inks.blocked;
      brush.fillRect(at(step), arrived ? axis - 14 * ratio : axis + 2 * ratio, bar, 12 * ratio);
    }
  }
}
