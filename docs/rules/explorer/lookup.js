// The answers, which the environment gave when the site was built. Nothing here knows a rule.
const table = window.rulesExplorerTable;
const numActions = table.actions.length;
const actionNamed = name => table.actions.findIndex(action => action.name === name);
const isAt = (cell, other) => cell[0] === other[0] && cell[1] === other[1];
const cellIndex = (map, cell) => table.maps[map].cells.findIndex(other => isAt(cell, other));

const answers = { bytes: new Uint8Array(), begins: {} };

async function unpackAnswers() {
  const packed = Uint8Array.from(atob(table.answers), letter => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  answers.bytes = new Uint8Array(await new Response(unpacked).arrayBuffer());
  let position = 0;
  for (const [name, { cells }] of Object.entries(table.maps)) {
    for (let count = 1; count <= table.mostAgents; count++) {
      answers.begins[`${name} ${count}`] = position;
      position += cells.length ** count * count * numActions ** count * table.rules.length;
    }
  }
}

// What becomes of each agent under a rule: the cell after the step, and the outcome.
function answer({ map, agents }, rule) {
  const { cells } = table.maps[map];
  const count = agents.length;
  let layout = 0;
  let actions = 0;
  for (const { cell, action } of agents) {
    layout = layout * cells.length + cellIndex(map, cell);
    actions = actions * numActions + action;
  }
  return agents.map(({ cell: [x, y] }, agent) => {
    const row = (layout * count + agent) * numActions ** count + actions;
    const place = answers.begins[`${map} ${count}`] + row * table.rules.length + table.rules.indexOf(rule);
    const [dx, dy, outcome] = table.codes[answers.bytes[place]];
    return { cell: [x + dx, y + dy], ...table.outcomes[outcome] };
  });
}
