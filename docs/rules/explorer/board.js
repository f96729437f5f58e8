// The drawings: the board, and a small one for each rule. A cell has 100 units a side.
const SIDE = 100;
const RADIUS = 31;
// Discs that share a cell are smaller: the radius, and the place of each from the middle, by their number.
const SHARED = [[RADIUS, [[0, 0]]], [21, [[-22, 0], [22, 0]]], [18, [[0, -20], [-23, 18], [23, 18]]]];
const LIFT = 5;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function shape(name, attributes = {}, ...children) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

function drawGround(map) {
  const { width, height, cells } = table.maps[map];
  const ground = shape("g", {}, shape("rect", { class: "floor", width: width * SIDE, height: height * SIDE }));
  for (let x = 0; x < width; x++) {
    for (let y = 0; y < height; y++) {
      if (cellIndex(map, [x, y]) < 0) {
        ground.append(shape("rect", { class: "wall", x: x * SIDE, y: y * SIDE, width: SIDE, height: SIDE }));
      }
    }
  }
  let lines = "";
  for (let x = 1; x < width; x++) lines += `M${x * SIDE} 0V${height * SIDE}`;
  for (let y = 1; y < height; y++) lines += `M0 ${y * SIDE}H${width * SIDE}`;
  ground.append(shape("path", { class: "lines", d: lines }));
  ground.append(shape("rect", { class: "frame", width: width * SIDE, height: height * SIDE, rx: 4 }));
  return ground;
}

// Where discs stand in their cells: [x, y, radius] of each.
function placesOf(cells) {
  return cells.map((cell, index) => {
    const there = cells.flatMap((other, agent) => (isAt(cell, other) ? [agent] : []));
    const [radius, asides] = SHARED[there.length - 1];
    const [dx, dy] = asides[there.indexOf(index)];
    return [cell[0] * SIDE + SIDE / 2 + dx, cell[1] * SIDE + SIDE / 2 - LIFT + dy, radius];
  });
}

function drawDisc(agent, radius, kind) {
  const number = shape("text", { y: 0.36 * radius, "font-size": 1.02 * radius }, String(agent));
  return shape("g", { class: `disc ${kind} agent-${agent}` }, shape("circle", { r: radius }), number);
}

const moveTo = (drawing, [x, y]) => {
  drawing.setAttribute("transform", `translate(${x} ${y})`);
  return drawing;
};

// The request of an agent: an arrow into the next cell, or one that ends at a bar.
function drawRequest(agent, { cell, action }, result, lane) {
  const [dx, dy] = table.actions[action].step;
  const moved = result.name === "moved";
  if (!moved && !result.refused) return "";
  // A refused one ends before the border of the cell, which is nearer above, for the disc is lifted.
  const end = moved ? SIDE - RADIUS - 4 : SIDE / 2 + dy * LIFT - 5;
  const arrow = moved
    ? `M${RADIUS + 3} 0H${end - 12}M${end} 0l-15 -10v20z`
    : `M${RADIUS + 1} 0H${end}M${end} -15V15`;
  const turn = (Math.atan2(dy, dx) * 180) / Math.PI;
  const [[x, y]] = placesOf([cell]);
  const aside = moved ? lane : 0;
  const path = shape("path", { d: arrow, transform: `translate(${x} ${y}) rotate(${turn}) translate(0 ${aside})` });
  return shape("g", { class: `request ${moved ? "granted" : "refused"} agent-${agent}` }, path);
}

// Why an agent remains in its cell, at the bottom of the cell.
function drawWord({ cell: [x, y], name }) {
  if (name === "moved") return "";
  return shape("text", { class: "word", x: (x + 0.5) * SIDE, y: (y + 0.94) * SIDE }, name);
}

// Two agents that pass through one another have their arrows side by side.
function laneOf({ cell, action }, agents) {
  const [dx, dy] = table.actions[action].step;
  const ahead = agents.find(other => isAt(other.cell, [cell[0] + dx, cell[1] + dy]));
  const [otherX, otherY] = ahead ? table.actions[ahead.action].step : [0, 0];
  return ahead && ahead.cell !== cell && otherX === -dx && otherY === -dy ? 11 : 0;
}

function drawBefore(svg, { map, agents }, results) {
  const places = placesOf(agents.map(agent => agent.cell));
  const ghosts = placesOf(results.map(result => result.cell));
  svg.replaceChildren(
    drawGround(map),
    ...results.map((result, agent) =>
      result.name === "moved" && agentIn(result.cell) < 0
        ? moveTo(drawDisc(agent, ghosts[agent][2], "ghost"), ghosts[agent])
        : "",
    ),
    ...agents.map((agent, index) => drawRequest(index, agent, results[index], laneOf(agent, agents))),
    ...places.map((place, agent) => {
      return moveTo(drawDisc(agent, place[2], agent === view.selected ? "selected" : ""), place);
    }),
    ...results.map(drawWord),
  );
}

function drawAfter(svg, { map, agents }, results) {
  const before = placesOf(agents.map(agent => agent.cell));
  const after = placesOf(results.map(result => result.cell));
  const trails = results.map(({ name }, agent) => {
    const [[x, y], [toX, toY]] = [before[agent], after[agent]];
    return name === "moved" ? shape("path", { class: `trail agent-${agent}`, d: `M${x} ${y}L${toX} ${toY}` }) : "";
  });
  const discs = after.map((place, agent) =>
    moveTo(drawDisc(agent, place[2], results[agent].name === "moved" ? "" : "held"), place),
  );
  svg.replaceChildren(drawGround(map), ...trails, ...discs, ...results.map(drawWord));
  return { before, after, discs };
}

// Slide the agents that move; the others start towards the requested cell and come back.
function animateStep({ before, after, discs }, { agents }, results) {
  if (calm.matches) return;
  discs.forEach((disc, agent) => {
    const [dx, dy] = table.actions[agents[agent].action].step;
    const [[x, y], [toX, toY]] = [before[agent], after[agent]];
    const at = (left, top) => ({ transform: `translate(${left}px, ${top}px)` });
    const onTheWay = results[agent].name === "moved" ? [] : [at(x + 14 * dx, y + 14 * dy)];
    const stops = [at(x, y), ...onTheWay, at(toX, toY)];
    disc.animate(stops, { duration: 700, easing: "ease-in-out" });
  });
}
