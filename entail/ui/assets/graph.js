// The tree as a vis-network graph. STYLE (looks, legend, sizes), CSS and vis are put in front by entail/ui/graph.py.
const LEGIBLE = 12; // pixels: text is not made smaller than this, unless the reader does
const MARGIN = { top: 52, right: 12, bottom: 52, left: 12 };
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const views = new Map(); // mount key -> where the reader was, for when the graph is drawn anew
const graphs = new WeakMap();

class TreeGraph {
  constructor(parentElement, key) {
    this.key = key;
    this.outbox = new Outbox();
    this.records = new Map();
    this.matches = [];
    this.match = 0;
    this.free = false; // whether the reader has moved the view
    this.panel = new Panel({
      find: (words) => this.find(words),
      step: (by) => this.step(by),
      zoom: (by) => this.zoom(by),
      fit: () => this.fit(),
      fold: () => this.send("toggle", this.selected),
      foldAll: () => this.foldAll(),
      screen: () => (this.root.ownerDocument.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()),
    });
    this.map = new TreeMap((position) => this.lookAt({ position }, { byReader: true }));
    this.place = element("div", { class: "canvas" });
    this.wheelHint = element("div", { class: "wheel" }, ["Ctrl + scroll to zoom, drag to move"]);
    const { legend, hint, tools } = this.panel;
    this.root = element("div", { class: "graph", "data-graph": key }, [
      this.place, hint, this.wheelHint, legend, this.map.canvas, tools,
    ]);
    const style = element("style");
    style.textContent = CSS;
    parentElement.append(style, this.root);
    this.nodes = new vis.DataSet();
    this.edges = new vis.DataSet();
    this.network = new vis.Network(this.place, { nodes: this.nodes, edges: this.edges }, this.options());
    this.network.canvas.frame.tabIndex = -1;
    this.network.canvas.frame.canvas.setAttribute("role", "img");
    this.network.on("click", (event) => this.click(event));
    this.network.on("doubleClick", (event) => this.open(event));
    for (const moved of ["dragStart", "zoom"]) this.network.on(moved, () => (this.free = true));
    this.network.on("hoverNode", () => (this.place.style.cursor = "pointer"));
    this.network.on("blurNode", () => (this.place.style.cursor = ""));
    this.network.on("beforeDrawing", (ctx) => paintSteps(ctx, this.records, this.theme, this.network.getScale()));
    this.network.on("afterDrawing", () => this.afterDrawing());
    this.place.addEventListener("mouseleave", () => this.forgetMouse());
    this.place.addEventListener("wheel", (event) => this.wheel(event), { passive: false, capture: true });
    this.resizing = new ResizeObserver(() => this.resized());
    this.resizing.observe(this.place);
    document.fonts?.ready.then(() => this.network?.redraw());
  }

  options() {
    return {
      autoResize: true,
      physics: { enabled: false },
      layout: { randomSeed: 1, improvedLayout: false },
      nodes: { shape: "custom", ctxRenderer: (drawing) => this.draw(drawing), fixed: true, physics: false },
      edges: { hidden: true }, // painted by `paintSteps`, which draws a step as one
      interaction: {
        dragNodes: false, hover: true, hoverConnectedEdges: false, selectable: false, selectConnectedEdges: false,
        tooltipDelay: 600,
      },
    };
  }

  update(data, setTriggerValue) {
    this.outbox.connect(setTriggerValue, data.acknowledged);
    this.root.dataset.still = "false";
    this.root.style.height = `${data.height}px`;
    const before = this.records;
    const first = before.size === 0;
    const moved = this.selected !== data.selected;
    this.selected = data.selected;
    this.collapsed = data.collapsed;
    this.sent = null;
    this.readTheme();
    this.records = this.read(data);
    this.nodes.remove([...before.keys()].filter((id) => !this.records.has(id)));
    this.nodes.update([...this.records.values()].map((node) => ({ id: node.id, x: node.x, y: node.y, title: this.tooltip(node) })));
    this.edges.remove(this.edges.getIds().filter((id) => !data.edges.some((edge) => edge.id === id)));
    this.edges.update(data.edges);
    const drawn = new Set(data.nodes.map((node) => node.group));
    this.panel.showLegend(STYLE.legend.filter(({ kind }) => kind !== "rejected" || drawn.has(kind)), this.theme.looks);
    this.panel.showFold(this.records.get(this.selected), this.collapsed, this.records);
    this.panel.hint.textContent = data.hint;
    this.panel.hint.hidden = !data.hint;
    this.network.canvas.frame.canvas.setAttribute("aria-label", data.description);
    this.search();
    if (first) this.begin();
    else this.keepPlace(before, moved);
    this.network.redraw();
  }

  read({ nodes, edges }) {
    const supports = new Map(edges.map((edge) => [edge.from, edge.to]));
    const floors = new Map(); // lower edge of a layer, by its upper edge
    for (const { y, height } of nodes) {
      const top = Math.round(y - height / 2);
      floors.set(top, Math.max(floors.get(top) ?? -Infinity, y + height / 2));
    }
    return new Map(nodes.map((node) => [node.id, {
      ...node, x: node.x * this.theme.narrow, width: node.width * this.theme.narrow, lines: node.label.split("\n"), supports: supports.get(node.id),
      floor: floors.get(Math.round(node.y - node.height / 2)),
    }]));
  }

  readTheme() {
    const style = getComputedStyle(this.root);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    const background = read("--st-background-color", "#ffffff");
    this.theme = {
      ...(isDark(background) ? STYLE.dark : STYLE.light),
      background,
      text: read("--st-text-color", "#222222"),
      accent: read("--st-primary-color", "#0066cc"),
      found: "#e69f00",
      font: style.fontFamily,
    };
    Object.assign(this.theme, fitFont(this.theme.font));
    this.legible = LEGIBLE / this.theme.size;
  }

  tooltip(node) {
    const kind = element("small", {}, [node.caption]);
    return element("div", {}, [kind, node.title]);
  }

  draw({ ctx, id, state }) {
    const node = this.records.get(id);
    if (!node) return { nodeDimensions: { width: 0, height: 0 } };
    return {
      drawNode: () => paintNode(ctx, node, this.theme, {
        scale: this.network.getScale(), selected: id === (this.sent ?? this.selected), hover: state.hover,
        match: this.matches.includes(id), current: this.matches[this.match] === id,
      }),
      nodeDimensions: { width: node.width, height: node.height },
    };
  }

  // ---- what the reader does

  send(kind, id) {
    const node = this.records.get(id);
    if (!node) return;
    this.outbox.send({ kind, node: node.of ?? node.id, premise: node.key ?? null });
  }

  // Expands all if anything is collapsed, also below what is collapsed itself; else leaves the hypothesis and its premises.
  foldAll() {
    const conclusions = [...this.records.values()].filter((node) => node.below && node.group !== "hypothesis");
    const ids = this.collapsed.length ? this.collapsed : conclusions.map(({ id }) => id);
    this.outbox.send(...ids.map((node) => ({ kind: "toggle", node, premise: null })));
  }

  click({ pointer }) {
    const scale = this.network.getScale();
    const badge = [...this.records.values()].find((node) => {
      const { x, y, wide, high } = badgeOf(node);
      const near = Math.abs(pointer.canvas.x - x) <= wide + 2 && Math.abs(pointer.canvas.y - y) <= high + 2;
      return near && hasBadge(node, scale);
    });
    if (badge) return this.send("toggle", badge.id);
    const id = this.network.getNodeAt(pointer.DOM);
    if (id === undefined || id === (this.sent ?? this.selected)) return;
    this.sent = id; // shown at once; Python's answer decides
    this.send("select", id);
    this.network.redraw();
  }

  open({ pointer }) {
    const id = this.network.getNodeAt(pointer.DOM);
    if (id !== undefined) this.send("open", id);
  }

  // vis-network does not notice that the mouse is gone: it would leave the tooltip standing.
  forgetMouse() {
    const away = new MouseEvent("mousemove", { clientX: -1e5, clientY: -1e5 });
    this.network.canvas.frame.canvas.dispatchEvent(away);
  }

  find(words) {
    this.words = words.trim().toLowerCase();
    this.match = 0;
    this.search();
    if (this.matches.length) this.goToMatch();
    this.network.redraw();
  }

  search() {
    const words = this.words ?? "";
    const current = this.matches[this.match];
    this.matches = words
      ? [...this.records.values()].filter((node) => `${node.title}\n${node.inside ?? ""}`.toLowerCase().includes(words))
        .sort((a, b) => a.y - b.y || a.x - b.x).map((node) => node.id)
      : [];
    this.match = Math.max(0, this.matches.indexOf(current));
    this.panel.showFound(words, this.matches.length, this.match);
  }

  step(by) {
    if (!this.matches.length) return;
    this.match = (this.match + by + this.matches.length) % this.matches.length;
    this.panel.showFound(this.words, this.matches.length, this.match);
    this.goToMatch();
    this.network.redraw();
  }

  goToMatch() {
    const { x, y } = this.records.get(this.matches[this.match]);
    this.lookAt({ position: { x, y }, scale: Math.max(this.legible, this.network.getScale()) }, { byReader: true, slowly: true });
  }

  wheel(event) {
    event.stopPropagation();
    if (!event.ctrlKey && !event.metaKey) {
      this.wheelHint.classList.add("shown");
      clearTimeout(this.hiding);
      this.hiding = setTimeout(() => this.wheelHint.classList.remove("shown"), 900);
      return;
    }
    event.preventDefault();
    const box = this.place.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), {
      x: event.clientX - box.left, y: event.clientY - box.top,
    });
  }

  zoom(by, at = { x: this.place.clientWidth / 2, y: this.place.clientHeight / 2 }) {
    const old = this.network.getScale();
    const scale = Math.min(3, Math.max(0.03, old * by));
    const fixed = this.network.DOMtoCanvas(at);
    const middle = this.network.getViewPosition();
    const position = {
      x: fixed.x + ((middle.x - fixed.x) * old) / scale, y: fixed.y + ((middle.y - fixed.y) * old) / scale,
    };
    this.lookAt({ position, scale }, { byReader: true });
  }

  fit() {
    this.lookAt(this.wholeTree(), { slowly: true });
    this.free = false;
  }

  // ---- what is in view

  box() {
    const all = [...this.records.values()];
    return {
      left: Math.min(...all.map((node) => node.x - node.width / 2)),
      right: Math.max(...all.map((node) => node.x + node.width / 2)),
      top: Math.min(...all.map((node) => node.y - node.height / 2)),
      bottom: Math.max(...all.map((node) => node.y + node.height / 2)),
    };
  }

  view() {
    const [scale, { x, y }] = [this.network.getScale(), this.network.getViewPosition()];
    const [halfWidth, halfHeight] = [this.place.clientWidth / 2 / scale, this.place.clientHeight / 2 / scale];
    return { left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
  }

  room() {
    return {
      width: Math.max(50, this.place.clientWidth - MARGIN.left - MARGIN.right),
      height: Math.max(50, this.place.clientHeight - MARGIN.top - MARGIN.bottom),
    };
  }

  wholeTree() {
    const [box, room] = [this.box(), this.room()];
    const scale = Math.min(1, room.width / (box.right - box.left), room.height / (box.bottom - box.top));
    return {
      scale,
      position: {
        x: (box.left + box.right) / 2 + (MARGIN.right - MARGIN.left) / 2 / scale,
        y: (box.top + box.bottom) / 2 + (MARGIN.bottom - MARGIN.top) / 2 / scale,
      },
    };
  }

  begin() {
    if (!this.place.clientWidth || !this.place.clientHeight) return; // in a closed tab: `resized` comes back to it
    this.begun = true;
    const left = views.get(this.key);
    if (left) {
      this.free = left.free;
      return this.lookAt(left);
    }
    const whole = this.wholeTree();
    if (whole.scale >= this.legible) return this.lookAt(whole);
    // Too large to be read as a whole: begin at the hypothesis, in letters that can be read.
    const [box, room, root] = [this.box(), this.room(), this.records.values().next().value];
    const wide = (box.right - box.left) * this.legible <= room.width;
    const high = (box.bottom - box.top) * this.legible <= room.height;
    this.lookAt({
      scale: this.legible,
      position: {
        x: wide ? whole.position.x : root.x,
        y: high ? whole.position.y : box.top + (this.place.clientHeight / 2 - MARGIN.top) / this.legible,
      },
    });
    this.reveal(this.selected, false);
  }

  keepPlace(before, moved) {
    const anchor = [this.selected, this.records.keys().next().value].find((id) => before.has(id) && this.records.has(id));
    if (anchor !== undefined) {
      const [old, now, { x, y }] = [before.get(anchor), this.records.get(anchor), this.network.getViewPosition()];
      if (old.x !== now.x || old.y !== now.y) this.lookAt({ position: { x: x + now.x - old.x, y: y + now.y - old.y } });
    }
    const whole = this.wholeTree();
    const [box, view] = [this.box(), this.view()];
    const inside = view.left <= box.left && view.right >= box.right && view.top <= box.top && view.bottom >= box.bottom;
    if (!this.free && !inside && whole.scale >= this.legible) this.lookAt(whole, { slowly: true });
    else if (moved) this.reveal(this.selected, true);
  }

  reveal(id, slowly) {
    const node = this.records.get(id);
    if (!node || !this.place.clientWidth) return;
    const [view, scale, { x, y }] = [this.view(), this.network.getScale(), this.network.getViewPosition()];
    const past = (low, high, from, to) => (low < from ? low - from : high > to ? high - to : 0);
    const by = {
      x: past(node.x - node.width / 2, node.x + node.width / 2, view.left + MARGIN.left / scale, view.right - MARGIN.right / scale),
      y: past(node.y - node.height / 2, node.y + node.height / 2, view.top + MARGIN.top / scale, view.bottom - MARGIN.bottom / scale),
    };
    if (by.x || by.y) this.lookAt({ position: { x: x + by.x, y: y + by.y } }, { slowly });
  }

  lookAt(view, { byReader = false, slowly = false } = {}) {
    if (byReader) this.free = true;
    cancelAnimationFrame(this.moving);
    this.moving = null;
    this.root.dataset.still = "false";
    const from = { scale: this.network.getScale(), position: this.network.getViewPosition() };
    const to = { ...from, ...view };
    if (!slowly || calm.matches) {
      this.network.moveTo(to);
      return this.network.redraw();
    }
    // By the clock, not by frames as vis-network does it: a large tree takes no longer than a small one.
    const began = performance.now();
    const step = (now) => {
      const passed = Math.min(1, Math.max(0, (now - began) / 250));
      const part = passed * passed * (3 - 2 * passed);
      const between = (a, b) => a + (b - a) * part;
      this.network.moveTo({
        scale: Math.exp(between(Math.log(from.scale), Math.log(to.scale))),
        position: { x: between(from.position.x, to.position.x), y: between(from.position.y, to.position.y) },
      });
      this.moving = passed < 1 ? requestAnimationFrame(step) : null;
      this.network.redraw();
    };
    this.moving = requestAnimationFrame(step);
  }

  resized() {
    if (!this.begun && this.records.size) this.begin();
    else if (this.begun && !this.free && this.place.clientWidth) {
      const whole = this.wholeTree();
      if (whole.scale >= this.legible) this.lookAt(whole);
    }
  }

  afterDrawing() {
    if (!this.records.size || this.noting) return;
    this.noting = setTimeout(() => {
      this.noting = null;
      if (this.network) this.note();
    }, 30);
  }

  // Says in the page where things are: for the map, for the way back, and for whoever drives the page from outside.
  note() {
    if (!this.begun || !this.place.clientWidth) return;
    views.set(this.key, { scale: this.network.getScale(), position: this.network.getViewPosition(), free: this.free });
    this.map.paint(this.records.values(), this.box(), this.view(), this.theme, this.selected);
    const [positions, signs, scale] = [{}, {}, this.network.getScale()];
    const pixels = (place) => {
      const { x, y } = this.network.canvasToDOM(place);
      return [Math.round(x), Math.round(y)];
    };
    for (const node of this.records.values()) {
      positions[node.id] = pixels(node);
      if (hasBadge(node, scale)) signs[node.id] = pixels(badgeOf(node));
    }
    Object.assign(this.root.dataset, {
      positions: JSON.stringify(positions), signs: JSON.stringify(signs), scale: scale.toFixed(3), selected: this.selected ?? "",
      matches: JSON.stringify(this.matches), match: this.matches[this.match] ?? "",
      still: String(!this.moving),
    });
  }

  destroy() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.moving);
    clearTimeout(this.noting);
    clearTimeout(this.hiding);
    const network = this.network;
    this.network = null;
    network.destroy();
    this.root.remove();
  }
}

// The mounts of this page draw through here; see graph_mount.js.
const draw = ({ data, parentElement, setTriggerValue }) => {
  let graph = graphs.get(parentElement);
  if (!graph) {
    graph = new TreeGraph(parentElement, data.key);
    graphs.set(parentElement, graph);
  }
  graph.update(data, setTriggerValue);
  return whenGone(parentElement, () => {
    graph.destroy();
    graphs.delete(parentElement);
  });
};

export default function ({ parentElement }) {
  meetingPoint().resolve(draw);
  return whenGone(parentElement, takeNoRoom(parentElement));
}
