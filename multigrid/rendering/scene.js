
// The worlds on their canvases. Sizes are in device pixels, so that cells have whole ones.
const stage = byId("stage");
const ground = document.createElement("canvas");
let side = 0;
const inks = {};
let palette = palettes.light;

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// The side of a cell, in CSS pixels, with which all worlds fit into so many columns.
function sideIn(columns) {
  const style = getComputedStyle(stage);
  const room = (stage.clientWidth - (columns - 1) * parseFloat(style.columnGap)) / columns;
  const chrome = (document.fullscreenElement ? 176 : innerWidth > 820 ? 270 : 300) + (isComparison ? 32 : 0);
  const caption = Math.max(...captions.map(one => one.offsetHeight));
  const rows = episodes.length / columns;
  const tall = (Math.max(260, innerHeight - chrome) - (rows - 1) * parseFloat(style.rowGap)) / rows - caption;
  return Math.min(room / width, Math.max(tall, 160) / height, 120);
}

function fitScenes() {
  const ratio = devicePixelRatio;
  // Below one another on narrow screens, and wherever cells are then much larger: flat worlds.
  const beside = isComparison && innerWidth > 600 && sideIn(1) < 1.5 * sideIn(2);
  stage.classList.toggle("beside", beside);
  const exact = sideIn(beside ? 2 : 1) * ratio;
  palette = palettes[usesDark() ? "dark" : "light"];
  side = exact >= 3 ? Math.floor(exact) : exact;
  for (const canvas of [ground, ...scenes.map(scene => scene.canvas)]) {
    canvas.width = Math.max(1, Math.floor(side * width));
    canvas.height = Math.max(1, Math.floor(side * height));
    canvas.style.width = `${canvas.width / ratio}px`;
    canvas.style.height = `${canvas.height / ratio}px`;
  }
  for (const name of ["floor", "grid", "wall", "blocked", "arrival", "ink", "edge"]) inks[name] = themeColour(name);
  drawGround(ratio);
}

// What never changes: floor, lines that fade as cells get small, walls.
function drawGround(ratio) {
  const brush = ground.getContext("2d");
  brush.fillStyle = inks.floor;
  brush.fillRect(0, 0, ground.width, ground.height);
  const thickness = Math.max(1, Math.round(ratio));
  brush.globalAlpha = clamp((side / ratio - 4) / 16, 0, 1);
  brush.fillStyle = inks.grid;
  for (let column = 1; column < width; column++) brush.fillRect(Math.round(column * side), 0, thickness, ground.height);
  for (let row = 1; row < height; row++) brush.fillRect(0, Math.round(row * side), ground.width, thickness);
  brush.globalAlpha = 1;
  brush.fillStyle = inks.wall;
  const { walls } = episodes[0];
  for (let cell = 0; cell < walls.length; cell++) {
    if (!walls[cell]) continue;
    const left = Math.floor(columnOf(cell) * side);
    const top = Math.floor(rowOf(cell) * side);
    const right = Math.ceil((columnOf(cell) + 1) * side);
    brush.fillRect(left, top, right - left, Math.ceil((rowOf(cell) + 1) * side) - top);
  }
  brush.strokeStyle = inks.edge;
  brush.lineWidth = 2 * thickness;
  brush.strokeRect(0, 0, ground.width, ground.height);
}

const middle = place => (place + 0.5) * side;

// The drawing of one episode. Places and the time are those of the last drawing.
function makeScene(episode, canvas) {
  const { data, marksAt, badgesAt, cellOf, targetOf, isPresent, isSettled, isBlocked, isDelayed, blockersOf, refusedMove } = episode;
  const pen = canvas.getContext("2d");
  const xs = new Float64Array(numAgents);
  const ys = new Float64Array(numAgents);
  const shown = new Uint8Array(numAgents);
  let drawnTime = 0;

  function roundedSquare(cell, inset) {
    const size = side * (1 - 2 * inset);
    pen.beginPath();
    pen.roundRect((columnOf(cell) + inset) * side, (rowOf(cell) + inset) * side, size, size, size * 0.26);
  }

  function draw() {
    const time = timeIn(episode);
    const before = Math.floor(time);
    const share = calm.matches ? 0 : time - before;
    const after = share > 0 ? before + 1 : before;
    const marked = focus();
    const fade = agent => (state.followed >= 0 && agent !== state.followed && agent !== state.hovered ? 0.35 : 1);
    pen.globalAlpha = 1;
    pen.drawImage(ground, 0, 0);

    marksAt(before).forEach(drawMark);

    const outline = Math.max(1, side * 0.055);
    for (let agent = 0; agent < numAgents; agent++) {
      shown[agent] = isPresent(agent, before);
      if (!shown[agent]) continue;
      const cell = cellOf(agent, before);
      const next = cellOf(agent, after);
      xs[agent] = columnOf(cell) + (columnOf(next) - columnOf(cell)) * share;
      ys[agent] = rowOf(cell) + (rowOf(next) - rowOf(cell)) * share;
      if (!data.has_targets) continue;
      const settled = isSettled(agent, before);
      const strength = fade(agent) * (isPresent(agent, after) ? 1 : 1 - share);
      roundedSquare(targetOf(agent, before), settled ? 0.07 : 0.12);
      pen.fillStyle = pen.strokeStyle = palette.colours[agent];
      pen.globalAlpha = strength * (settled ? 1 : side < 8 ? 0.45 : 0.2);
      pen.fill();
      if (settled || side < 8) continue;
      pen.globalAlpha = strength;
      pen.lineWidth = outline;
      pen.stroke();
    }
    if (marked >= 0) drawPath(marked);
    for (let agent = 0; agent < numAgents; agent++) {
      if (!data.has_targets || !shown[agent] || isSettled(agent, before) || fade(agent) < 1) continue;
      const target = targetOf(agent, before);
      pen.globalAlpha = isPresent(agent, after) ? 1 : 1 - share;
      write(String(agent), middle(columnOf(target)), middle(rowOf(target)), side * 0.34, inks.ink);
    }
    const inTheWay = marked >= 0 && isBlocked(marked, after) ? blockersOf(marked, after) : [];
    for (let agent = 0; agent < numAgents; agent++) {
      if (shown[agent] && agent !== marked) drawAgent(agent, before, after, share, fade(agent));
    }
    if (marked >= 0 && shown[marked]) drawAgent(marked, before, after, share, 1);
    inTheWay.forEach(markBlocker);
    drawnTime = time;
  }

  // The colour of a whole cell within the lines of the grid.
  function drawMark([cell, colour, ink, letter]) {
    const thickness = Math.max(1, Math.round(devicePixelRatio));
    const from = place => Math.round(place * side) + (place > 0 && side >= 8 * devicePixelRatio ? thickness : 0);
    const [left, top] = [columnOf(cell), rowOf(cell)];
    pen.fillStyle = colour;
    pen.fillRect(from(left), from(top), Math.round((left + 1) * side) - from(left), Math.round((top + 1) * side) - from(top));
    write(letter, middle(left), middle(top), side * 0.42, ink);
  }

  // A number or a letter in the middle of its place, where there is room for it.
  function write(text, x, y, radius, ink) {
    const size = radius * (text.length > 2 ? 0.86 : 1.1);
    if (size < 6.5 * devicePixelRatio) return;
    pen.fillStyle = ink;
    pen.font = `600 ${size}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(text, x, y + size * 0.06);
  }

  function drawAgent(agent, before, after, share, strength) {
    const x = middle(xs[agent]);
    const y = middle(ys[agent]);
    const settled = isSettled(agent, before);
    const radius = side * (settled ? 0.27 : 0.34);
    const circle = size => {
      pen.beginPath();
      pen.arc(x, y, size, 0, 2 * Math.PI);
    };
    const opacity = strength * (isPresent(agent, after) ? 1 : 1 - share);
    const delayed = isDelayed(agent, after);
    pen.globalAlpha = opacity * (delayed ? 0.4 : 1);
    pen.fillStyle = palette.colours[agent];
    circle(radius);
    pen.fill();
    pen.globalAlpha = opacity;
    if (side >= 8) {
      pen.strokeStyle = palette.rims[agent];
      pen.lineWidth = Math.max(1, side * (settled ? 0.06 : 0.04));
      pen.stroke();
    }
    write(String(agent), x, y, side * 0.34, delayed ? inks.ink : palette.inks[agent]);
    for (const badge of badgesAt(before)) if (badge[0] === agent) drawBadge(xs[agent] * side, ys[agent] * side, badge);
    if (isBlocked(agent, after)) {
      pen.strokeStyle = inks.blocked;
      pen.lineWidth = Math.max(1.2, side * 0.07);
      circle(side * 0.42);
      pen.stroke();
      if (side >= 8) drawRefused(x, y, refusedMove(agent, after));
    }
    if (agent === focus()) {
      pen.strokeStyle = inks.ink;
      pen.lineWidth = Math.max(1.5, side * 0.06);
      if (settled) roundedSquare(cellOf(agent, before), 0.02);
      else circle(Math.max(side * 0.47, 4 * devicePixelRatio));
      pen.stroke();
    }
  }

  // An arrow the way that the agent looks, and what it holds.
  function drawBadge(left, top, [, corners, colour, ink, letter]) {
    pen.lineWidth = Math.max(1, side * 0.03);
    pen.beginPath();
    for (const [x, y] of corners) pen.lineTo(left + x * side, top + y * side);
    pen.closePath();
    pen.strokeStyle = inks.floor;
    pen.fillStyle = inks.ink;
    pen.stroke();
    pen.fill();
    if (!colour) return;
    const [x, y, width] = data.held.map(one => one * side);
    pen.beginPath();
    pen.roundRect(left + x, top + y, width, width, width / 6);
    pen.fillStyle = colour;
    pen.strokeStyle = ink;
    pen.fill();
    pen.stroke();
    write(letter, left + x + width / 2, top + y + width / 2, width * 0.7, ink);
  }

  // An arrow head towards the requested cell of a refused move.
  function drawRefused(x, y, move) {
    if (move === null) return;
    const [across, down] = move;
    const point = (ahead, aside) => pen.lineTo(x + side * (across * ahead - down * aside), y + side * (down * ahead + across * aside));
    pen.fillStyle = inks.blocked;
    pen.beginPath();
    point(0.62, 0);
    point(0.42, 0.17);
    point(0.42, -0.17);
    pen.fill();
  }

  // A dashed ring around an agent that was in the way of the marked one.
  function markBlocker(agent) {
    if (!shown[agent]) return;
    pen.globalAlpha = 1;
    pen.strokeStyle = inks.blocked;
    pen.lineWidth = Math.max(1.5, side * 0.07);
    pen.setLineDash([side * 0.12, side * 0.1]);
    pen.beginPath();
    pen.arc(middle(xs[agent]), middle(ys[agent]), Math.max(side * 0.46, 4 * devicePixelRatio), 0, 2 * Math.PI);
    pen.stroke();
    pen.setLineDash([]);
  }

  // Where the agent has been, and dotted where it will go.
  function drawPath(agent) {
    const line = (from, to, points) => {
      pen.beginPath();
      for (const [x, y] of points) pen.lineTo(middle(x), middle(y));
      for (let step = from; step <= to; step++) {
        pen.lineTo(middle(columnOf(cellOf(agent, step))), middle(rowOf(cellOf(agent, step))));
      }
    };
    const before = Math.floor(timeIn(episode));
    const here = [[xs[agent], ys[agent]]];
    pen.strokeStyle = palette.colours[agent];
    pen.lineWidth = Math.max(1.5, side * 0.13);
    pen.lineCap = pen.lineJoin = "round";
    pen.globalAlpha = 1;
    line(before + 1, episode.lastStep, shown[agent] ? here : []);
    pen.setLineDash([0, Math.max(4, side * 0.28)]);
    pen.stroke();
    pen.setLineDash([]);
    line(0, before, []);
    if (shown[agent]) pen.lineTo(middle(xs[agent]), middle(ys[agent]));
    pen.stroke();
  }

  // The agent under a point of the page, or -1.
  function agentAt(event) {
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) * devicePixelRatio;
    const y = (event.clientY - box.top) * devicePixelRatio;
    let best = -1;
    let least = Math.max(side / 2, 9 * devicePixelRatio);
    for (let agent = 0; agent < numAgents; agent++) {
      const away = shown[agent] ? Math.hypot(middle(xs[agent]) - x, middle(ys[agent]) - y) : Infinity;
      if (away < least) [best, least] = [agent, away];
    }
    return best;
  }

  // For tests: places are in cells, x and y of a disc's or a square's cell, with parts between two steps, and null for
  // an agent that has left.
  const lastDrawing = () => ({
    time: drawnTime,
    agents: Array.from(shown, (there, agent) => (there ? [xs[agent], ys[agent]] : null)),
    marks: marksAt(Math.floor(drawnTime)).map(([cell, colour, , letter]) => [columnOf(cell), rowOf(cell), colour, letter]),
    badges: badgesAt(Math.floor(drawnTime)).map(([agent, , colour, , letter]) => [agent, colour, letter]),
    targets: Array.from(shown, (there, agent) => {
      const cell = targetOf(agent, Math.floor(drawnTime));
      return there ? [columnOf(cell), rowOf(cell)] : null;
    }),
  });

  return { canvas, draw, agentAt, lastDrawing };
}

document.body.classList.toggle("two", isComparison);
const halves = Array.from(stage.querySelectorAll("figure"));
const captions = halves.map(half => half.querySelector("figcaption"));
const scenes = episodes.map((episode, index) => makeScene(episode, halves[index].querySelector("canvas")));
