
// Playing, scrubbing, stepping and following: every change ends in one drawing at the browser's next frame.
const play = byId("play");
const speed = byId("speed");
const theme = byId("theme");
const help = byId("help");
const link = byId("link");
const speeds = [1, 2, 4, 8, 16, 32, 64];
let due = false;
let last = null;
let displayed = { step: -1, focus: -2 };

function draw() {
  drawScene();
  const [step, marked] = [currentStep(), focus()];
  if (marked !== displayed.focus) drawMarks();
  if (marked !== displayed.focus || step !== displayed.step) {
    showNow();
    showAgent();
    scrub.value = String(step);
    link.href = address();
  }
  displayed = { step, focus: marked };
}

function tick(now) {
  due = false;
  if (state.playing) {
    // A tab that was hidden, or a slow frame, must not leap far.
    const passed = last === null ? 0 : Math.min(0.25, (now - last) / 1000);
    last = now;
    state.time = Math.min(lastStep, state.time + passed * state.speed);
    if (state.time === lastStep) setPlaying(false);
    else soon();
  }
  draw();
}

function soon() {
  if (!due) requestAnimationFrame(tick);
  due = true;
}

function setPlaying(playing) {
  state.playing = playing;
  last = null;
  if (playing && state.time >= lastStep) state.time = 0;
  if (!playing) writeAddress();
  if (!playing && calm.matches) state.time = Math.floor(state.time);
  play.setAttribute("aria-label", playing ? "Pause" : "Play");
  if (playing) soon();
}

function goTo(step) {
  setPlaying(false);
  state.time = clamp(step, 0, lastStep);
  soon();
}

// To the next event after the current step, or with -1 the one before; of the followed agent, or of all.
function goToEvent(way) {
  const agents = state.followed >= 0 ? [state.followed] : Array.from({ length: numAgents }, (_, agent) => agent);
  let step = way > 0 ? Math.floor(state.time) : Math.ceil(state.time);
  do step += way;
  while (step > 0 && step < lastStep && !agents.some(agent => isEvent(agent, step)));
  goTo(step);
}

// The part of the address that names a step and an agent. Within a notebook there is no address.
const hasAddress = location.protocol !== "about:";
const address = () => `#step=${currentStep()}${state.followed >= 0 ? `&agent=${state.followed}` : ""}`;

function readAddress() {
  const named = new URLSearchParams(location.hash.slice(1));
  const number = (name, most) => (/^\d+$/.test(named.get(name) ?? "") && Number(named.get(name)) <= most ? Number(named.get(name)) : -1);
  if (number("step", lastStep) < 0) return;
  followAgent(number("agent", numAgents - 1));
  goTo(number("step", lastStep));
}

let waiting = 0;
function writeAddress() {
  if (!hasAddress) return;
  // Browsers refuse many changes in a short time.
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, "", address()), 300);
}

const stepBack = () => goTo(Math.ceil(state.time) - 1);
const stepForward = () => goTo(Math.floor(state.time) + 1);

function followAgent(agent) {
  state.followed = agent;
  state.hovered = -1;
  writeAddress();
  soon();
}

function restyle() {
  fitScene();
  displayed = { step: -1, focus: -2 };
  soon();
}

const scheme = matchMedia("(prefers-color-scheme: dark)");
const usesDark = () => (document.documentElement.dataset.theme ?? (scheme.matches ? "dark" : "light")) === "dark";

function showTheme() {
  theme.setAttribute("aria-pressed", String(usesDark()));
  restyle();
}

scrub.max = String(lastStep);
for (const rate of speeds) speed.append(new Option(`${rate} ${rate === 1 ? "step" : "steps"}/s`, rate));
// The slowest that shows the episode in a dozen seconds.
state.speed = speeds.find(rate => lastStep / rate <= 12) ?? speeds.at(-1);
speed.value = String(state.speed);

play.addEventListener("click", () => {
  setPlaying(!state.playing);
  soon();
});
byId("first").addEventListener("click", () => goTo(0));
byId("back").addEventListener("click", stepBack);
byId("forward").addEventListener("click", stepForward);
byId("last").addEventListener("click", () => goTo(lastStep));
byId("previous-event").addEventListener("click", () => goToEvent(-1));
byId("next-event").addEventListener("click", () => goToEvent(1));
verdict.addEventListener("click", event => {
  event.preventDefault();
  goTo(data.verdict.step);
});
link.hidden = !hasAddress;
link.addEventListener("click", event => {
  event.preventDefault();
  history.replaceState(null, "", address());
  navigator.clipboard?.writeText(location.href).then(() => (link.title = "Copied"), () => {});
});
const full = byId("full");
full.hidden = !document.fullscreenEnabled;
const player = document.querySelector(".player");
full.addEventListener("click", () => (document.fullscreenElement ? document.exitFullscreen() : player.requestFullscreen()));
addEventListener("fullscreenchange", () => {
  full.setAttribute("aria-pressed", String(document.fullscreenElement !== null));
  restyle();
});
byId("keys").addEventListener("click", () => help.showModal());
addEventListener("hashchange", readAddress);
scrub.addEventListener("input", () => goTo(Number(scrub.value)));
speed.addEventListener("change", () => (state.speed = Number(speed.value)));
follow.addEventListener("change", () => followAgent(Number(follow.value)));
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = usesDark() ? "light" : "dark";
  showTheme();
});

const keys = {
  ArrowLeft: stepBack,
  ArrowRight: stepForward,
  Home: () => goTo(0),
  End: () => goTo(lastStep),
  " ": () => play.click(),
  Escape: () => followAgent(-1),
  n: () => goToEvent(1),
  p: () => goToEvent(-1),
  f: () => full.hidden || full.click(),
  "?": () => help.showModal(),
};
addEventListener("keydown", event => {
  // The list of keys has its own Escape.
  if (help.open) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const element = event.target.tagName;
  const taken = element === "SELECT" || (element === "BUTTON" && event.key === " ");
  if (taken || event.ctrlKey || event.metaKey || event.altKey || !(key in keys)) return;
  event.preventDefault();
  keys[key]();
});

const hint = byId("hint");
function hover(event) {
  const agent = event.pointerType === "touch" ? -1 : agentAt(event);
  hint.hidden = agent < 0;
  if (agent >= 0) {
    const step = currentStep();
    hint.textContent = agentName(agent) + (isBlocked(agent, step) ? `: ${outcomeText(agent, step)}` : "");
    const box = byId("stage").getBoundingClientRect();
    const left = event.clientX - box.left + 12;
    hint.style.left = `${Math.min(left, box.width - hint.offsetWidth)}px`;
    hint.style.top = `${Math.max(0, event.clientY - box.top - 30)}px`;
  }
  if (agent !== state.hovered) {
    state.hovered = agent;
    soon();
  }
}
canvas.addEventListener("pointermove", hover);
canvas.addEventListener("pointerleave", () => {
  hint.hidden = true;
  state.hovered = -1;
  soon();
});
canvas.addEventListener("click", event => {
  const agent = agentAt(event);
  followAgent(agent === state.followed ? -1 : agent);
});
new ResizeObserver(restyle).observe(byId("stage"));
addEventListener("resize", restyle);
scheme.addEventListener("change", showTheme);
calm.addEventListener("change", soon);

// For tests: what the last drawing put on the canvas. Places are in cells, x and y of a
// disc's or a square's cell, with parts between two steps, and null for an agent that has left; side is a cell's in
// CSS pixels.
window.multigrid = Object.freeze({
  lastDrawing: () => ({
    time: drawnTime,
    playing: state.playing,
    followed: state.followed,
    side: side / devicePixelRatio,
    agents: Array.from(shown, (there, agent) => (there ? [xs[agent], ys[agent]] : null)),
    targets: Array.from(shown, (there, agent) => {
      const cell = targetOf(agent, Math.floor(drawnTime));
      return there ? [columnOf(cell), rowOf(cell)] : null;
    }),
  }),
});

readAddress();
showTheme();
draw();
