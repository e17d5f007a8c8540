// What the views of a tree are made of: elements, signs and buttons, never markup that holds anybody's words.
const ICONS = {
  previous: "M15 18l-6-6 6-6",
  next: "M9 18l6-6-6-6",
  out: "M5 12h14",
  in: "M12 5v14M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  fold: "M7 4l5 5 5-5M7 20l5-5 5 5",
  foldAll: "M4 5l4 4 4-4M4 19l4-4 4 4M12 5l4 4 4-4M12 19l4-4 4 4",
  focus: "M12 3v4M12 17v4M3 12h4M17 12h4M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  turn: "M4 7h12M13 4l3 3-3 3M7 20v-9M4 17l3 3 3-3",
  save: "M12 4v11M7 11l5 5 5-5M4 20h16",
  screen: "M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7",
};

const element = (name, attributes = {}, children = []) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const svg = (name, attributes, children = []) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const tool = (name, label, onClick) => {
  const path = svg("path", {
    d: ICONS[name], fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round",
    "stroke-linejoin": "round",
  });
  const button = element("button", { type: "button", title: label, "aria-label": label, "data-tool": name }, [
    svg("svg", { viewBox: "0 0 24 24", width: "16", height: "16", "aria-hidden": "true" }, [path]),
  ]);
  button.addEventListener("click", onClick);
  return button;
};

const sample = (shape, look) => {
  const common = { fill: look.fill, stroke: look.border, "stroke-width": "2" };
  const mark = svg("rect", {
    x: "1.5", y: "1.5", width: "21", height: "13", rx: shape === "rounded" ? "6" : "1",
    ...(shape === "dashed" ? { "stroke-dasharray": "4 2.5" } : {}), ...common,
  });
  const inner = svg("rect", { x: "5", y: "5", width: "14", height: "6", ...common, "stroke-width": "1" });
  return svg("svg", { viewBox: "0 0 24 16", width: "24", height: "16", "aria-hidden": "true" }, shape === "double" ? [mark, inner] : [mark]);
};
