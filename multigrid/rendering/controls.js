
// Playing, scrubbing, stepping and following: every change ends in one drawing at the browser's next frame.
const play = byId("play");
const speed = byId("speed");
const theme = byId("theme");
const help = byId("help");
const link = byId("link");
const speeds = [1, 2, 4, 8, 16, 32, 64];
let due = false;
let last = null;
const nothing = { step: -1, focus: -2, details: -1 };
let displayed = nothing;

function draw() {
  for (const scene of scenes) scene.draw();
  const now = { step: currentStep(), focus: focus(), details: detailed() };
  if (now.focus !== displayed.focus) drawMarks();
  if (Object.keys(now).some(part => now[part] !== displayed[part])) {
    showNow();
    showAgent();
    scrub.value = String(now.step);
    link.href = address();
  }
  displayed = now;
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
  const happens = () => episodes.some(episode => agents.some(agent => episode.isEvent(agent, step)));
  do step += way;
  while (step > 0 && step < lastStep && !happens());
  goTo(step);
}

// The part of the address that names a step, an agent and, of two recordings, the second one. Within a notebook there is
// no address.
const hasAddress = location.protocol !== "about:";
function address() {
  const agent = state.followed >= 0 ? `&agent=${state.followed}` : "";
  return `#step=${currentStep()}${agent}${agent && state.chosen ? `&in=${letters[state.chosen]}` : ""}`;
}

function readAddress() {
  const named = new URLSearchParams(location.hash.slice(1));
  const number = (name, most) => (/^\d+$/.test(named.get(name) ?? "") && Number(named.get(name)) <= most ? Number(named.get(name)) : -1);
  if (number("step", lastStep) < 0) return;
  const second = isComparison && named.get("in") === letters[1];
  followAgent(number("agent", numAgents - 1), Number(second));
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

function followAgent(agent, chosen = state.chosen) {
  Object.assign(state, { followed: agent, hovered: -1, chosen });
  writeAddress();
  soon();
}

function restyle() {
  fitScenes();
  displayed = nothing;
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
verdicts.forEach((verdict, index) =>
  verdict.addEventListener("click", event => {
    event.preventDefault();
    goTo(episodes[index].data.verdict.step);
  }),
);
choices.forEach((choice, index) => choice.addEventListener("click", () => followAgent(state.followed, index)));
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
function hover(event, half) {
  const agent = event.pointerType === "touch" ? -1 : scenes[half].agentAt(event);
  hint.hidden = agent < 0;
  if (agent >= 0) {
    const episode = episodes[half];
    const step = stepIn(episode);
    hint.textContent = agentName(agent) + (episode.isBlocked(agent, step) ? `: ${outcomeText(episode, agent, step)}` : "");
    const box = stage.getBoundingClientRect();
    const left = event.clientX - box.left + 12;
    hint.style.left = `${Math.min(left, box.width - hint.offsetWidth)}px`;
    hint.style.top = `${Math.max(0, event.clientY - box.top - 30)}px`;
  }
  point(agent, half);
}
function point(agent, half) {
  if (agent === state.hovered && half === state.pointed) return;
  Object.assign(state, { hovered: agent, pointed: half });
  soon();
}
scenes.forEach(({ canvas, agentAt }, half) => {
  canvas.addEventListener("pointermove", event => hover(event, half));
  canvas.addEventListener("pointerleave", () => {
    hint.hidden = true;
    point(-1, -1);
  });
  canvas.addEventListener("click", event => {
    const agent = agentAt(event);
    const again = agent === state.followed && half === state.chosen;
    followAgent(again ? -1 : agent, half);
  });
});
new ResizeObserver(restyle).observe(stage);
addEventListener("resize", restyle);
// A page that shows this one in a frame may fit the frame's height.
const tell = () => parent.postMessage({ replayHeight: document.body.offsetHeight }, "*");
if (parent !== window) new ResizeObserver(tell).observe(document.body);
scheme.addEventListener("change", showTheme);
calm.addEventListener("change", soon);

// For tests: what the last drawing put on a canvas, as `lastDrawing` of scene.js says; side is a cell's in CSS pixels.
window.multigrid = Object.freeze({
  lastDrawing: (half = 0) => ({
    ...scenes[half].lastDrawing(),
    playing: state.playing,
    followed: state.followed,
    side: side / devicePixelRatio,
  }),
});

readAddress();
showTheme();
draw();
