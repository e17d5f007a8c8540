// Handle between the candidates and the tree: drag it, or press arrows; Enter or a click on its arrow hides the candidates.
const STORED = "entail.split", LOW = 22, HIGH = 70;
const page = document.documentElement;

const show = ({ split, closed }) => {
  page.style.setProperty("--split", split);
  page.toggleAttribute("data-candidates-closed", closed);
};

const stored = () => {
  try { return { split: 40, closed: false, ...JSON.parse(localStorage.getItem(STORED)) }; }
  catch (error) { return { split: 40, closed: false }; } // no storage, or not ours
};

const build = (parentElement) => {
  const make = (name, attributes) => Object.assign(document.createElement(name), attributes);
  const frame = make("div", { className: "splitter" });
  const handle = make("div", { className: "handle", role: "separator", tabIndex: 0, ariaOrientation: "vertical", ariaLabel: "Width of the candidates" });
  const fold = make("button", { type: "button" });
  frame.append(handle, fold);
  parentElement.append(make("style", { textContent: CSS }), frame);
  let state = stored();
  const set = (change, keep = true) => {
    state = { ...state, ...change, ...(change.split !== undefined && { split: Math.min(HIGH, Math.max(LOW, change.split)) }) };
    show(state);
    handle.ariaValueNow = state.closed ? 0 : Math.round(state.split);
    fold.title = fold.ariaLabel = state.closed ? "Show the candidates" : "Hide the candidates";
    fold.textContent = state.closed ? "Candidates" : "\u2039";
    frame.classList.toggle("closed", state.closed);
    if (keep) try { localStorage.setItem(STORED, JSON.stringify(state)); } catch (error) { /* lasts as long as the page */ }
  };
  const toggle = () => set({ closed: !state.closed }, !document.fullscreenElement);
  fold.addEventListener("click", toggle);
  handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const { left, width } = hostOf(parentElement).closest(".st-key-panes").getBoundingClientRect();
    set({ split: (100 * (event.clientX - left)) / width, closed: false });
  });
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (by) set({ split: state.split + by, closed: false });
    else if (event.key === "Enter") toggle();
  });
  // In full screen the candidates are a drawer: closed at first, and as before afterwards.
  const screen = () => set({ closed: document.fullscreenElement ? true : stored().closed }, false);
  document.addEventListener("fullscreenchange", screen);
  set({}, false);
  return () => {
    document.removeEventListener("fullscreenchange", screen);
    show({ split: state.split, closed: false });
  };
};

const built = new WeakMap();

export default ({ parentElement }) => {
  if (!built.has(parentElement)) built.set(parentElement, build(parentElement));
  return whenGone(parentElement, () => {
    built.get(parentElement)?.();
    built.delete(parentElement);
  });
};
