// What the reader has chosen, and its form in the page's address: #explore=open,soft,0.0.right,1.0.left
const PREFIX = "#explore=";
const situation = { map: "", rule: table.rules[0], agents: [] };
// The agent that a chosen cell is for, and whether the board shows the state after the step.
const view = { selected: 0, after: false };

const agentIn = cell => situation.agents.findIndex(agent => isAt(agent.cell, cell));
const numMoved = results => results.filter(result => result.name === "moved").length;
const inWords = cell => `[${cell.join(", ")}]`;

function addressOf({ map, rule, agents }) {
  const parts = agents.map(({ cell, action }) => [...cell, table.actions[action].name].join("."));
  return PREFIX + [map, rule, ...parts].join(",");
}

// Throws an Error that says what is wrong with an address.
function readAddress(hash) {
  const [map, rule, ...parts] = hash.slice(PREFIX.length).split(",");
  if (!Object.hasOwn(table.maps, map)) throw new Error(`there is no map “${map}”`);
  if (!table.rules.includes(rule)) throw new Error(`there is no collision rule “${rule ?? ""}”`);
  if (parts.length < 1 || parts.length > table.mostAgents) {
    throw new Error(`it has ${parts.length} agents, but the explorer has room for one to ${table.mostAgents}`);
  }
  const agents = parts.map((part, index) => {
    const [, x, y, name] = /^(\d{1,2})\.(\d{1,2})\.([a-z]+)$/.exec(part) ?? [];
    if (name === undefined) throw new Error(`“${part}” is no agent, such as “1.0.right”`);
    const agent = { cell: [Number(x), Number(y)], action: actionNamed(name) };
    if (agent.action < 0) throw new Error(`there is no move “${name}”`);
    if (cellIndex(map, agent.cell) < 0) throw new Error(`agent ${index} cannot stand in ${inWords(agent.cell)}`);
    return agent;
  });
  agents.forEach(({ cell }, index) => {
    const first = agents.findIndex(other => isAt(other.cell, cell));
    if (first < index) throw new Error(`agents ${first} and ${index} begin in the same cell`);
  });
  return { map, rule, agents };
}

function firstFreeCell(map, agents) {
  return table.maps[map].cells.find(cell => !agents.some(agent => isAt(agent.cell, cell)));
}

// Agents whose cells are walls on the new map go to the first free cells.
function chooseMap(map) {
  const agents = situation.agents.filter(({ cell }) => cellIndex(map, cell) >= 0);
  situation.agents = situation.agents.map(agent => {
    if (agents.includes(agent)) return agent;
    const moved = { ...agent, cell: firstFreeCell(map, agents) };
    agents.push(moved);
    return moved;
  });
  situation.map = map;
}

function chooseCount(count) {
  const agents = situation.agents.slice(0, count);
  while (agents.length < count) agents.push({ cell: firstFreeCell(situation.map, agents), action: 0 });
  situation.agents = agents;
  view.selected = Math.min(view.selected, count - 1);
}

// A cell was chosen: an agent in it is selected, or changes its move if it was; a free cell gets the selected agent.
// Returns a message, or "" where the drawing says it all.
function chooseCell(cell) {
  if (cellIndex(situation.map, cell) < 0) return `${inWords(cell)} is a wall.`;
  const found = agentIn(cell);
  if (found >= 0 && found !== view.selected) {
    view.selected = found;
    return `Agent ${found} is selected.`;
  }
  const agent = situation.agents[view.selected];
  if (found >= 0) agent.action = (agent.action + 1) % numActions;
  else agent.cell = cell;
  return "";
}
