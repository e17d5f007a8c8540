// Pyvis's network of a tree, drawn by vis-network; entail/ui/components/graph.py puts STYLE and HTML in front.
const GAP = 12; // pixels between what is shown and the frame
const MAP = [150, 110]; // most pixels of the small map
const views = new Map(); // key of a graph -> where the reader was, for when it is drawn again

class TreeView {
  constructor(parentElement, key) {
    Object.assign(this, { key, outbox: new Outbox(), drawn: new Map(), boxes: new Map(), matches: [], match: 0 });
    this.root = furnish(parentElement, ".graph");
    for (const name of ["count", "canvas", "items", "hint", "legend", "acts", "map"]) this[name] = this.root.querySelector(`.${name}`);
    [this.nodes, this.edges] = [new vis.DataSet(), new vis.DataSet()];
    this.network = new vis.Network(this.canvas, { nodes: this.nodes, edges: this.edges }, {
      ...STYLE.options, ...this.look(), manipulation: { enabled: false, addEdge: (edge, done) => done(this.connected(edge)) },
    });
    const on = (names, act) => names.split(" ").forEach((name) => this.network.on(name, act));
    on("click", ({ nodes: [id] }) => this.click(id));
    on("doubleClick", ({ pointer }) => {
      const id = this.network.getNodeAt(pointer.DOM);
      if (this.boxes.has(id)) this.send("open", id);
    });
    on("dragStart zoom", ({ nodes }) => (this.free ||= !nodes?.length));
    on("dragging", ({ nodes: [id], pointer }) => (this.over = this.boxAt(pointer.canvas, id)));
    on("dragEnd", ({ nodes: [id] }) => this.drop(id));
    on("resize", () => this.resized(views.get(this.key)));
    on("afterDrawing", (context) => this.drawRings(context));
    const own = {
      connect: () => this.connect(), out: () => this.zoom(1 / 1.25), in: () => this.zoom(1.25),
      fit: () => this.fit(),
      screen: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
    };
    for (const button of this.root.querySelectorAll("[data-tool]")) {
      button.addEventListener("click", own[button.dataset.tool] ?? (() => this.send(button.dataset.tool, this.selected)));
    }
    for (const button of this.acts.children) {
      button.addEventListener("click", () => this.send("dialog", this.selected, button.dataset.act));
    }
    for (const name of ["pointerdown", "pointermove"]) this.map.addEventListener(name, (event) => event.buttons && this.pan(event));
    this.canvas.firstChild.removeAttribute("tabindex"); // the keys are the page's
    this.field = findField(this.root, (by) => this.find(by));
    this.root.addEventListener("transitionend", ({ target }) => target === this.root && this.theme()); // see graph.css
    document.fonts.ready.then(() => this.theme());
  }

  update(data, setStateValue) {
    this.outbox.connect(setStateValue, data.acknowledged);
    const [before, selected, anchor] = [this.data, this.selected, this.spot(this.selected) ?? this.spot("n1")];
    const appears = before && data.newest !== null && !this.drawn.has(data.newest);
    Object.assign(this, { data, selected: data.selected, sent: null });
    this.paint(data);
    const dragNodes = data.editable && matchMedia("(pointer: fine)").matches; // a finger moves the view
    if (before?.editable !== data.editable) this.network.setOptions({ interaction: { ...STYLE.options.interaction, dragNodes } });
    if (!before) this.begin();
    else if (before.part !== data.part) this.fit();
    else {
      const now = anchor && this.spot(anchor.id);
      if (now) this.shift(now.x - anchor.x, now.y - anchor.y);
      if (selected !== this.selected) this.reveal(this.selected);
      else if (appears) this.reveal(data.newest);
    }
    this.search();
    this.mark();
  }

  // Changes what differs, and puts back what was dragged.
  paint({ nodes, edges, tools, hint }) {
    const all = new Map([...nodes, ...edges.map((edge) => ({ ...edge, id: `${edge.from}>${edge.to}` }))].map((each) => [each.id, each]));
    const texts = new Map([...all].map(([id, each]) => [id, JSON.stringify(each)]));
    const changed = [...all.values()].filter(({ id }) => this.drawn.get(id) !== texts.get(id) || id === this.dragged);
    const gone = [...this.drawn.keys()].filter((id) => !all.has(id));
    this.nodes.remove(gone);
    this.edges.remove(gone);
    this.nodes.update(changed.filter(({ from }) => from === undefined));
    this.edges.update(changed.filter(({ from }) => from !== undefined));
    Object.assign(this, { drawn: texts, dragged: null, boxes: new Map(nodes.filter(({ level }) => level).map((box) => [box.id, box])) });
    this.items.replaceChildren(...[...this.boxes.values()].map(({ id, title, level, open, x, y }) =>
      treeItem({ id, level, open, class: "node", "data-at": `${x} ${y}` }, [title])));
    for (const entry of this.legend.children) entry.hidden = !nodes.some(({ group }) => group === entry.dataset.kind);
    for (const [name, button] of Object.entries(tools)) Object.assign(this.root.querySelector(`[data-tool="${name}"]`), button);
    this.hint.textContent = hint;
  }

  look() {
    const { colorScheme, fontFamily: face } = getComputedStyle(this.root);
    const probe = element("canvas").getContext("2d");
    const { text, width, size } = STYLE.sample;
    probe.font = `${size}px ${face}`;
    const font = { face, size: size * Math.min(1.1, width / probe.measureText(text).width) }; // boxes have the widths of one font
    Object.assign(this, { smallest: STYLE.smallest / font.size, readable: 11 / font.size }); // zoom down to which a whole tree is shown, and else
    this.groups = STYLE.themes[colorScheme.includes("dark") ? "dark" : "light"];
    return { groups: this.groups, nodes: { ...STYLE.options.nodes, font } };
  }

  theme() {
    this.network.setOptions(this.look());
    this.nodes.update(this.nodes.map(({ id, group }) => ({ id, group }))); // measures the texts again
  }

  mark() {
    const shown = this.sent ?? this.selected;
    this.network.setSelection({ nodes: this.boxes.has(shown) ? [shown] : [] });
    for (const item of this.items.children) item.ariaSelected = String(item.id === shown);
    this.items.ariaLabel = this.data.description;
    this.items.setAttribute("aria-activedescendant", shown ?? "");
  }

  // What vis-network does not draw: where a box would go, and what was found; and, for whoever drives the page, the view.
  drawRings(context) {
    const ring = (id, lineWidth, strokeStyle) => {
      const { left, top, right, bottom, radius } = this.sides(id);
      Object.assign(context, { lineWidth, strokeStyle }).beginPath();
      context.roundRect(left - 4, top - 4, right - left + 8, bottom - top + 8, radius + 4);
      context.stroke();
    };
    for (const id of this.network.getSelectedNodes()) if (this.boxes.has(id)) ring(id, 3, STYLE.accent);
    for (const id of this.matches) ring(id, id === this.matches[this.match] ? 5 : 2.5, "#e69f00");
    if (this.over) ring(this.over, 5, "#e69f00");
    this.drawMap();
    this.placeActs();
    const [position, scale, selected] = [this.network.getViewPosition(), this.network.getScale(), this.selected ?? ""];
    Object.assign(this.root.dataset, { scale: scale.toFixed(3), view: `${position.x} ${position.y}`, selected });
    if (this.begun && this.canvas.clientWidth) views.set(this.key, { position, scale, free: this.free });
  }

  // All boxes and the part in view, where that is not all.
  drawMap() {
    const { canvas: { clientWidth, clientHeight }, map, network, data: { size: [width, height] } } = this;
    const [from, to] = [network.DOMtoCanvas({ x: 0, y: 0 }), network.DOMtoCanvas({ x: clientWidth, y: clientHeight })];
    map.hidden = from.x <= 0 && from.y <= 0 && to.x >= width && to.y >= height;
    if (map.hidden) return;
    const scale = Math.min(MAP[0] / width, MAP[1] / height);
    Object.assign(map, { width: 2 * scale * width, height: 2 * scale * height, scale });
    Object.assign(map.style, { width: `${scale * width}px`, height: `${scale * height}px` });
    const context = map.getContext("2d");
    context.scale(2 * scale, 2 * scale);
    for (const [id, { group }] of this.boxes) {
      const { left, top, right, bottom } = this.sides(id);
      context.fillStyle = this.groups[group].color.border;
      context.fillRect(left, top, right - left, bottom - top);
    }
    Object.assign(context, { lineWidth: 2 / scale, strokeStyle: STYLE.accent });
    context.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
  }

  pan({ offsetX, offsetY }) {
    this.free = true;
    this.network.moveTo({ position: { x: offsetX / this.map.scale, y: offsetY / this.map.scale }, scale: this.network.getScale() });
  }

  // Above the right end of the selected box, or next to it, as long as that is in view.
  placeActs() {
    const isReadable = this.network.getScale() >= this.smallest; // on smaller boxes they would cover others
    const box = this.data.editable && isReadable && this.boxes.get(this.selected);
    const { right, top } = box ? this.sides(this.selected) : {};
    const { x, y } = box ? this.network.canvasToDOM({ x: right, y: top }) : {};
    const { clientWidth, clientHeight } = this.canvas;
    this.acts.hidden = !box || x < 0 || y < 0 || x > clientWidth + 60 || y > clientHeight;
    for (const button of this.acts.children) button.disabled = box?.group === "hypothesis" && button.dataset.act !== "edit";
    const [width, above] = [this.acts.offsetWidth, y - this.acts.offsetHeight - 6];
    const left = above < 0 ? Math.min(x + 6, clientWidth - width) : Math.min(x, clientWidth) - width;
    this.acts.style.transform = `translate(${Math.max(0, left)}px, ${above < 0 ? Math.max(0, y) : above}px)`;
  }

  spot(id) {
    return this.begun && this.boxes.has(id) ? { id, ...this.network.canvasToDOM(this.network.getPosition(id)) } : null;
  }

  sides(id) {
    const { left, top, right, bottom } = this.network.getBoundingBox(id) ?? {}; // it may just have gone
    const radius = STYLE.radii[this.boxes.get(id)?.group]; // which vis-network adds
    return { left: left + radius, top: top + radius, right: right - radius, bottom: bottom - radius, radius };
  }

  shift(x, y) {
    const [at, scale] = [this.network.getViewPosition(), this.network.getScale()];
    if (!x && !y) return;
    this.fitted = false;
    this.network.moveTo({ position: { x: at.x + x / scale, y: at.y + y / scale }, scale });
  }

  whole() {
    const [width, height] = this.data.size;
    return Math.min(1, (this.canvas.clientWidth - 2 * GAP) / width, (this.canvas.clientHeight - 2 * GAP) / height);
  }

  fit() {
    const [[width, height], scale] = [this.data.size, this.whole()];
    Object.assign(this, { free: false, fitted: true });
    if (scale > 0) this.network.moveTo({ position: { x: width / 2, y: height / 2 }, scale });
  }

  // The whole tree if it can be read; else from its first box on, in letters that can be read.
  begin() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height || !this.boxes.size) return; // in a closed tab: "resize" comes back
    const before = views.get(this.key);
    this.begun = true;
    if (before) Object.assign(this, { free: before.free }).network.moveTo(before);
    else if (this.whole() >= this.smallest) this.fit();
    else {
      const [[x, y], half] = [this.data.start, (side) => (side / 2 - GAP) / this.readable];
      const position = this.data.direction === "down" ? { x, y: y + half(height) } : { x: x + half(width), y };
      this.network.moveTo({ scale: this.readable, position });
    }
  }

  // vis-network would make the letters larger in a larger frame, right after it says so.
  async resized(view) {
    await null;
    if (!this.begun) this.begin();
    else if (!this.free && (this.fitted || this.whole() >= this.smallest)) this.fit();
    else if (view) this.network.moveTo(view);
  }

  zoom(by) {
    this.free = true;
    this.network.moveTo({ scale: Math.min(3, Math.max(0.05, this.network.getScale() * by)) });
  }

  // Moves no further than the box needs: a click on an outer box of a whole tree would hide the others.
  reveal(id) {
    const at = this.spot(id);
    if (!at) return;
    const [{ left, right, top, bottom }, half] = [this.sides(id), this.network.getScale() / 2];
    const past = (value, size, room) => Math.min(0, value - room) + Math.max(0, value - size + room);
    const room = (side) => side * half + GAP - 1;
    const { clientWidth, clientHeight } = this.canvas;
    this.shift(past(at.x, clientWidth, room(right - left)), past(at.y, clientHeight, room(bottom - top)));
  }

  send(kind, id, to) {
    this.outbox.send({ kind, node: this.nodes.get(id)?.of ?? id, ...(to && { to }) });
  }

  click(id) {
    if (this.nodes.get(id ?? "")?.group === "fold") this.send("toggle", id);
    else if (this.boxes.has(id) && id !== (this.sent ?? this.selected)) this.send("select", (this.sent = id)); // shown at once
    this.mark();
  }

  boxAt({ x, y }, moved) {
    const holds = ({ left, top, right, bottom }) => left <= x && x <= right && top <= y && y <= bottom;
    const ids = this.boxes.has(moved) ? [...this.boxes.keys()] : [];
    return ids.find((id) => id !== moved && !this.boxes.get(id).of && holds(this.sides(id)));
  }

  // A box stays where it was dropped until Python answers; if it was dropped on nothing, it goes back.
  drop(id) {
    const to = this.over;
    Object.assign(this, { over: null, dragged: id });
    if (to) this.send("move", id, to);
    else this.paint(this.data);
    this.mark();
  }

  connect(on = !this.root.classList.contains("connecting")) {
    this.root.classList.toggle("connecting", on);
    this.root.querySelector("[data-tool=connect]").ariaPressed = String(on);
    if (on) this.network.addEdgeMode();
    else this.network.disableEditMode();
  }

  connected({ from, to }) {
    this.connect(false);
    if (from === to || ![from, to].every((id) => this.boxes.has(id) && !this.boxes.get(id).of)) return;
    this.send("connect", from, to);
  }

  // In order of reading; a collapsed node also stands for what is in it.
  search(by = 0) {
    const [words, current] = [this.field.value.trim().toLowerCase(), this.matches[this.match]];
    this.matches = words ? [...this.boxes.values()].filter((box) => box.words.includes(words)).map(({ id }) => id) : [];
    const total = this.matches.length;
    this.match = total && (Math.max(0, this.matches.indexOf(current)) + by + total) % total;
    this.count.textContent = !words ? "" : total ? `${this.match + 1} / ${total}` : "none";
    Object.assign(this.root.dataset, { matches: JSON.stringify(this.matches), match: this.matches[this.match] ?? "" });
    this.network.redraw();
  }

  find(by) {
    this.search(by);
    if (this.matches.length && this.network.getScale() < this.smallest) this.zoom(this.readable / this.network.getScale());
    this.reveal(this.matches[this.match]);
  }
}
