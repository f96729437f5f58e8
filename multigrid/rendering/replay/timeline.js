
// Below the world: in each step, how many agents arrived (bars up) and how many were refused their move (bars down).
const marks = byId("marks");
const scrub = byId("scrub");
const arrivalsBy = new Int32Array(moments);
const newArrivals = new Int32Array(moments);
const refusals = new Int32Array(moments);
for (let step = 0; step < moments; step++) {
  for (let agent = 0; agent < numAgents; agent++) {
    arrivalsBy[step] += arrivalsOf(agent, step);
    refusals[step] += isBlocked(agent, step);
  }
  newArrivals[step] = step > 0 ? arrivalsBy[step] - arrivalsBy[step - 1] : 0;
}
const largest = values => values.reduce((most, value) => Math.max(most, value), 1);
const reaches = { arrivals: largest(newArrivals), refusals: largest(refusals) };

// The slider's thumb is 12 pixels wide and stays within the slider, so the steps begin and end 6 pixels inside it.
const INSET = 6;

function drawMarks() {
  const ratio = devicePixelRatio;
  const wide = (marks.width = Math.round(marks.clientWidth * ratio));
  const tall = (marks.height = Math.round(marks.clientHeight * ratio));
  const brush = marks.getContext("2d");
  const inset = INSET * ratio;
  const pitch = (wide - 2 * inset) / Math.max(1, lastStep);
  const axis = tall / 2;
  // Narrow bars stand side by side on whole pixels; wide ones are centred on their step, with room between them.
  const bar = pitch < 4 ? Math.max(1, Math.ceil(pitch)) : clamp(pitch * 0.7, 3, 8 * ratio);
  const at = step => Math.round(inset + step * pitch - bar / 2);
  brush.fillStyle = inks.edge;
  brush.fillRect(inset, axis - ratio / 2, wide - 2 * inset, ratio);
  const bars = (heights, reach, up, colour) => {
    brush.fillStyle = colour;
    for (let step = 0; step < moments; step++) {
      if (heights[step] === 0) continue;
      const length = Math.max(3 * ratio, (heights[step] / reach) * (axis - 8 * ratio));
      brush.fillRect(at(step), up ? axis - 2 * ratio - length : axis + 2 * ratio, bar, length);
    }
  };
  // The step that the verdict names.
  brush.fillStyle = data.verdict.solved ? inks.arrival : inks.blocked;
  for (let top = 0; top < tall; top += 5 * ratio) brush.fillRect(Math.round(inset + data.verdict.step * pitch), top, ratio, 3 * ratio);
  const marked = focus();
  brush.globalAlpha = marked >= 0 ? 0.3 : 1;
  bars(newArrivals, reaches.arrivals, true, inks.arrival);
  bars(refusals, reaches.refusals, false, inks.blocked);
  brush.globalAlpha = 1;
  if (marked < 0) return;
  for (let step = 1; step < moments; step++) {
    const arrived = arrivalsOf(marked, step) > arrivalsOf(marked, step - 1);
    if (arrived || isBlocked(marked, step)) {
      brush.fillStyle = arrived ? inks.arrival : inks.blocked;
      brush.fillRect(at(step), arrived ? axis - 14 * ratio : axis + 2 * ratio, bar, 12 * ratio);
    }
  }
}
