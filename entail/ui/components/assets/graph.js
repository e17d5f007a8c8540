// The tree as a vis-network graph. STYLE (looks, legend, sizes), CSS and vis are put in front by entail/ui/graph.py.
const graphs = new WeakMap();

class TreeGraph {
  constructor(parentElement, key) {
    this.outbox = new Outbox();
    this.records = new Map();
    this.matches = [];
    this.match = 0;
    this.panel = new Panel({
      find: (words) => this.find(words),
      step: (by) => this.step(by),
      zoom: (by) => this.view.zoom(by),
      fit: () => this.view.fit(),
      fold: () => this.send("toggle", this.selected),
      foldAll: () => this.foldAll(),
      screen: () => (this.root.ownerDocument.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()),
    });
    this.map = new TreeMap((position) => this.view.lookAt({ position }, { byReader: true }));
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
    this.view = new View(this.network, this.place, key, () => (this.root.dataset.still = "false"));
    this.network.canvas.frame.tabIndex = -1;
    this.network.canvas.frame.canvas.setAttribute("role", "img");
    this.network.on("click", (event) => this.click(event));
    this.network.on("doubleClick", (event) => this.open(event));
    for (const moved of ["dragStart", "zoom"]) this.network.on(moved, () => (this.view.free = true));
    this.network.on("hoverNode", () => (this.place.style.cursor = "pointer"));
    this.network.on("blurNode", () => (this.place.style.cursor = ""));
    this.network.on("beforeDrawing", (ctx) => paintSteps(ctx, this.records, this.theme, this.network.getScale()));
    this.network.on("afterDrawing", () => this.afterDrawing());
    this.place.addEventListener("mouseleave", () => this.forgetMouse());
    this.place.addEventListener("wheel", (event) => this.wheel(event), { passive: false, capture: true });
    this.resizing = new ResizeObserver(() => this.view.resized());
    this.resizing.observe(this.place);
    document.fonts?.ready.then(() => this.data && this.network && this.update(this.data, this.outbox.setTriggerValue));
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
    this.data = data;
    this.outbox.connect(setTriggerValue, data.acknowledged);
    this.root.dataset.still = "false";
    this.root.style.height = `${data.height}px`;
    const before = this.records;
    this.selected = data.selected;
    this.collapsed = data.collapsed;
    this.sent = null;
    this.readTheme();
    this.records = this.read(data);
    this.nodes.remove([...before.keys()].filter((id) => !this.records.has(id)));
    const records = [...this.records.values()];
    this.nodes.update(records.map((node) => ({ id: node.id, x: node.x, y: node.y, title: this.tooltip(node) })));
    this.edges.remove(this.edges.getIds().filter((id) => !data.edges.some((edge) => edge.id === id)));
    this.edges.update(data.edges);
    const drawn = new Set(data.nodes.map((node) => node.group));
    this.panel.showLegend(STYLE.legend.filter(({ kind }) => kind !== "rejected" || drawn.has(kind)), this.theme.looks);
    this.panel.showFold(this.records.get(this.selected), this.collapsed, this.records);
    this.panel.hint.textContent = data.hint;
    this.panel.hint.hidden = !data.hint;
    this.network.canvas.frame.canvas.setAttribute("aria-label", data.description);
    this.search();
    this.view.change(this.records, this.selected, this.theme.size);
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
      ...node,
      x: node.x * this.theme.narrow,
      width: node.width * this.theme.narrow,
      lines: node.label.split("\n"),
      supports: supports.get(node.id),
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
    const scale = Math.max(this.view.legible, this.network.getScale());
    this.view.lookAt({ position: { x, y }, scale }, { byReader: true, slowly: true });
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
    this.view.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), {
      x: event.clientX - box.left, y: event.clientY - box.top,
    });
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
    if (!this.view.begun || !this.place.clientWidth) return;
    this.view.remember();
    this.map.paint(this.records.values(), this.view.box(), this.view.frame(), this.theme, this.selected);
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
      positions: JSON.stringify(positions),
      signs: JSON.stringify(signs),
      scale: scale.toFixed(3),
      selected: this.selected ?? "",
      matches: JSON.stringify(this.matches),
      match: this.matches[this.match] ?? "",
      still: String(!this.view.moving),
    });
  }

  destroy() {
    this.resizing.disconnect();
    this.view.stop();
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
    graph.outbox.close();
    graph.destroy();
    graphs.delete(parentElement);
  });
};

export default function ({ parentElement }) {
  meetingPoint("graph").resolve(draw);
  return whenGone(parentElement, takeNoRoom(parentElement));
}
