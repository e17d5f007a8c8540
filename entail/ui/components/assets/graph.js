// The tree as a picture to read: Python draws it (entail/trees/formats/svg.py), the browser scrolls, selects and zooms it.
// STYLE (legend, shapes) and CSS are put in front by entail/ui/components/graph.py.
const graphs = new WeakMap();

class TreeGraph {
  constructor(parentElement, key) {
    this.outbox = new Outbox();
    this.matches = [];
    this.match = 0;
    this.words = "";
    this.build(key);
    const style = element("style");
    style.textContent = CSS;
    parentElement.append(style, this.root);
    this.view = new View(this.scroller, key, () => this.moved());
    this.map = new TreeMap(this.view);
    this.scroller.after(this.map.root);
    this.scroller.addEventListener("click", (event) => this.click(event));
    this.scroller.addEventListener("dblclick", (event) => !event.target.closest(".fold") && this.send("open", nodeAt(event)));
    this.scroller.addEventListener("pointerdown", (event) => this.drag(event));
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.scroller.addEventListener("touchmove", (event) => this.pinch(event), { passive: false });
    this.scroller.addEventListener("touchend", () => (this.apart = null));
    this.resizing = new ResizeObserver(() => this.view.resized());
    this.resizing.observe(this.scroller);
  }

  build(key) {
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.field = element("input", {
      type: "search", placeholder: "Find in tree", "aria-label": "Find in tree", spellcheck: "false", autocomplete: "off",
    });
    this.field.addEventListener("input", () => this.find(this.field.value));
    this.field.addEventListener("keydown", (event) => this.pressInField(event));
    this.previous = tool("previous", "Previous match (Shift+Enter)", () => this.step(-1));
    this.next = tool("next", "Next match (Enter)", () => this.step(1));
    this.fold = tool("fold", "Collapse the selected node", () => this.send("toggle", this.node(this.selected)));
    this.foldAll = tool("foldAll", "Collapse all", () => this.toggleAll());
    this.focus = tool("focus", "Show the selected subtree only", () => this.outbox.send({ kind: "focus", node: this.selected }));
    this.turn = tool("turn", "Top-down layout", () => this.outbox.send({ kind: "turn", node: this.selected ?? "" }));
    const screen = tool("screen", "Full screen", () =>
      this.root.ownerDocument.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen());
    this.tools = element("div", { class: "tools", role: "toolbar", "aria-label": "Graph" }, [
      element("span", { class: "find" }, [this.field, this.count, this.previous, this.next]),
      element("span", { class: "group" }, [this.fold, this.foldAll, this.focus, this.turn]),
      element("span", { class: "group" }, [
        tool("out", "Zoom out", () => this.view.zoom(1 / 1.25)),
        tool("in", "Zoom in", () => this.view.zoom(1.25)),
        tool("fit", "Fit the whole tree", () => this.view.fit()),
        tool("save", "Save as PNG", () => this.save()),
        ...(document.fullscreenEnabled ? [screen] : []),
      ]),
    ]);
    this.path = element("nav", { class: "path", "aria-label": "Shown part of the tree" });
    this.scroller = element("div", { class: "canvas", role: "tree", tabindex: "0" });
    this.hint = element("p", { class: "hint" });
    this.legend = element("ul", { class: "legend", "aria-label": "Legend" });
    this.root = element("div", { class: "graph", "data-graph": key }, [
      element("div", { class: "parts" }, [
        this.tools, this.path, element("div", { class: "stage" }, [this.scroller, this.hint]), this.legend,
      ]),
    ]);
  }

  update(data, setStateValue) {
    this.outbox.connect(setStateValue, data.acknowledged);
    const text = JSON.stringify(data.picture);
    const [before, changed] = [this.selected, text !== this.text];
    const elsewhere = this.data && data.path.at(-1).id !== this.data.path.at(-1).id;
    Object.assign(this, { data, text, selected: data.selected, sent: null });
    this.root.style.height = `${data.height}px`;
    this.scroller.setAttribute("aria-label", data.description);
    this.hint.textContent = data.hint;
    this.hint.hidden = !data.hint;
    if (changed) this.draw(before, elsewhere);
    else if (before !== this.selected) this.view.reveal(this.selected);
    this.search();
    this.showSelected();
    this.showTools();
    this.note();
  }

  draw(before, elsewhere) {
    const anchors = [this.selected, "n1"].filter(Boolean);
    const anchor = this.view.hold(anchors);
    const { newest } = this.data;
    const appears = this.view.nodes && newest !== null && !this.view.nodes.has(newest);
    this.paint(this.data.picture);
    const { picture } = this;
    const [left, top, width] = picture.getAttribute("viewBox").split(" ").map(Number);
    const size = { width, height: Number(picture.dataset.height) };
    picture.setAttribute("viewBox", `${left} ${top} ${size.width} ${size.height}`); // the legend stands below
    if (elsewhere) this.view.free = false;
    const nodes = new Map([...this.boxes.children].map((node) => [node.dataset.node, node]));
    this.map.change(nodes, size, -left);
    this.view.change(picture, nodes, size, anchor);
    if (before !== undefined && before !== this.selected) this.view.reveal(this.selected);
    else if (appears) this.view.reveal(newest);
    if (elsewhere) this.view.begunAt();
    const kinds = new Set([...nodes.values()].map((node) => node.classList[1]));
    this.legend.replaceChildren(...STYLE.legend.filter(({ kind }) => kinds.has(kind)).map(({ kind, name }) =>
      element("li", { "data-kind": kind }, [sample(STYLE.shapes[kind], { fill: "", border: "" }), name])));
    this.path.hidden = this.data.path.length < 2;
    this.path.replaceChildren(...this.data.path.flatMap(({ id, text }, i, { length }) => {
      const name = i ? text : "Whole tree";
      if (i === length - 1) return [element("span", { "aria-current": "true", title: text }, [name])];
      const button = element("button", { type: "button", title: text }, [name]);
      button.addEventListener("click", () => this.outbox.send({ kind: "focus", node: id }));
      return [button, element("span", { "aria-hidden": "true" }, ["›"])];
    }));
  }

  // Changes what differs: boxes that only move are moved, so that their texts need not be laid out again.
  paint({ head, steps, boxes, tail }) {
    const frame = parse(head + steps + tail);
    if (!this.picture) {
      this.picture = frame;
      this.boxes = svg("g", {});
      frame.querySelector(".legend").before(this.boxes);
    } else {
      for (const { name, value } of frame.attributes) this.picture.setAttribute(name, value);
      this.picture.querySelector(".steps").replaceWith(frame.querySelector(".steps"));
    }
    const before = this.drawn ?? new Map();
    const fresh = boxes.filter(([id, , group]) => before.get(id)?.group !== group);
    const groups = [...parse(`<svg xmlns="${SVG}">${fresh.map(([, , group]) => group).join("")}</svg>`).children];
    const elements = new Map(fresh.map(([id], i) => [id, groups[i]]));
    this.drawn = new Map(boxes.map(([id, , group]) => [id, { group, box: elements.get(id) ?? before.get(id).box }]));
    for (const [id, { box }] of before) if (this.drawn.get(id)?.box !== box) box.remove();
    let next = this.boxes.firstChild;
    for (const [id, at] of boxes) {
      const { box } = this.drawn.get(id);
      setChanged(box, "transform", `translate(${at})`);
      if (box === next) next = next.nextSibling;
      else this.boxes.insertBefore(box, next);
    }
  }

  node(id) {
    return this.view.nodes?.get(id) ?? null;
  }

  nodes() {
    return [...(this.view.nodes?.values() ?? [])];
  }

  showSelected() {
    const shown = this.node(this.sent ?? this.selected);
    for (const node of this.nodes()) setChanged(node, "aria-selected", String(node === shown));
    if (shown) this.scroller.setAttribute("aria-activedescendant", shown.id);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  showTools() {
    const name = (button, label, pressed) => {
      button.title = label;
      button.setAttribute("aria-label", label);
      if (pressed !== undefined) button.setAttribute("aria-pressed", String(pressed));
    };
    const { collapsed, direction, path } = this.data;
    const isCollapsed = collapsed.includes(this.selected);
    name(this.fold, isCollapsed ? "Expand the selected node" : "Collapse the selected node", isCollapsed);
    name(this.foldAll, collapsed.length ? "Expand all" : "Collapse all", collapsed.length > 0);
    name(this.turn, direction === "right" ? "Top-down layout" : "Left-to-right layout");
    const inner = this.node(this.selected)?.hasAttribute("aria-expanded") ?? false;
    this.fold.disabled = !inner;
    this.foldAll.disabled = !collapsed.length && !this.conclusions().length;
    this.focus.disabled = !inner || this.selected === path.at(-1).id;
  }

  conclusions() {
    return this.nodes().filter((node) => node.matches(".intermediate[aria-expanded]"));
  }

  moved() {
    this.map.show();
    if (!this.noting) {
      this.noting = requestAnimationFrame(() => {
        this.noting = null;
        this.note();
      });
    }
  }

  // Says in the page what is shown, for whoever drives the page from outside.
  note() {
    Object.assign(this.root.dataset, {
      scale: this.view.scale.toFixed(3),
      selected: this.selected ?? "",
      matches: JSON.stringify(this.matches),
      match: this.matches[this.match] ?? "",
    });
  }

  // ---- what the reader does

  send(kind, node) {
    if (!node) return;
    this.outbox.send({ kind, node: node.dataset.of ?? node.dataset.node });
  }

  // Expands all if anything is collapsed, also below what is collapsed itself; else leaves the hypothesis and its premises.
  toggleAll() {
    const { collapsed } = this.data;
    const ids = collapsed.length ? collapsed : this.conclusions().map((node) => node.dataset.node);
    this.outbox.send(...ids.map((node) => ({ kind: "toggle", node })));
  }

  click(event) {
    const node = nodeAt(event);
    if (!node || String(getSelection())) return; // text was selected
    if (event.target.closest(".fold")) return this.send("toggle", node);
    const id = node.dataset.node;
    if (id === (this.sent ?? this.selected)) return;
    this.sent = id; // shown at once; Python's answer decides
    this.send("select", node);
    this.showSelected();
  }

  // Between the boxes the mouse moves the picture; on a box it selects text. Fingers scroll, as anywhere.
  drag(event) {
    if (event.button !== 0 || event.pointerType !== "mouse" || nodeAt(event)) return;
    if (event.offsetX > this.scroller.clientWidth || event.offsetY > this.scroller.clientHeight) return; // scroll bars
    event.preventDefault();
    this.scroller.focus({ preventScroll: true });
    this.scroller.setPointerCapture(event.pointerId);
    const move = ({ movementX, movementY }) => {
      this.view.free = true;
      this.scroller.scrollBy(-movementX, -movementY);
    };
    const end = () => {
      this.scroller.classList.remove("dragged");
      this.scroller.removeEventListener("pointermove", move);
    };
    this.scroller.classList.add("dragged");
    this.scroller.addEventListener("pointermove", move);
    for (const over of ["pointerup", "pointercancel"]) this.scroller.addEventListener(over, end, { once: true });
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) {
      this.view.free = true;
      return;
    }
    event.preventDefault();
    const box = this.scroller.getBoundingClientRect();
    const by = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002));
    this.view.zoom(by, { x: event.clientX - box.x, y: event.clientY - box.y });
  }

  pinch(event) {
    this.view.free = true;
    if (event.touches.length !== 2) return;
    event.preventDefault();
    const [a, b] = event.touches;
    const [apart, box] = [Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), this.scroller.getBoundingClientRect()];
    const at = { x: (a.clientX + b.clientX) / 2 - box.x, y: (a.clientY + b.clientY) / 2 - box.y };
    if (this.apart) this.view.zoom(apart / this.apart, at);
    this.apart = apart;
  }

  pressInField(event) {
    event.stopPropagation();
    if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      this.field.value = "";
      this.find("");
    }
  }

  find(words) {
    this.words = words.trim().toLowerCase();
    this.match = 0;
    this.search();
    this.goToMatch();
  }

  // In order of reading; a collapsed node also stands for what is in it.
  search() {
    const current = this.matches[this.match];
    const { inside } = this.data;
    const says = (node) => {
      const title = node.querySelector("title").textContent;
      const text = title.slice(title.indexOf("\n") + 1);
      return `${text}\n${inside[node.dataset.node] ?? ""}`.toLowerCase().includes(this.words);
    };
    this.matches = this.words ? this.nodes().filter(says).map((node) => node.dataset.node) : [];
    this.match = Math.max(0, this.matches.indexOf(current));
    this.showFound();
  }

  showFound() {
    const [matches, current] = [new Set(this.matches), this.matches[this.match]];
    for (const node of this.nodes()) {
      node.classList.toggle("found", matches.has(node.dataset.node));
      node.classList.toggle("current", node.dataset.node === current);
    }
    const total = this.matches.length;
    this.count.textContent = !this.words ? "" : total ? `${this.match + 1} / ${total}` : "none";
    for (const part of [this.count, this.previous, this.next]) part.hidden = !this.words;
    this.previous.disabled = this.next.disabled = total < 2;
    this.note();
  }

  step(by) {
    if (!this.matches.length) return;
    this.match = (this.match + by + this.matches.length) % this.matches.length;
    this.showFound();
    this.goToMatch();
  }

  goToMatch() {
    if (!this.matches.length) return;
    if (this.view.scale < SMALLEST) this.view.zoom(READABLE / this.view.scale);
    this.view.reveal(this.matches[this.match], { slowly: false });
  }

  // The picture as it was drawn, without the page's colours: what the file of the same tree has.
  async save() {
    const image = new Image();
    const { head, steps, boxes, tail } = this.data.picture;
    const groups = boxes.map(([, at, group]) => `<g transform="translate(${at})"${group.slice(2)}`);
    const text = [head, steps, ...groups, tail].join("");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const density = Math.min(2, 16000 / Math.max(image.width, image.height)); // browsers draw no more pixels
    const canvas = element("canvas", { width: image.width * density, height: image.height * density });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const file = await new Promise((done) => canvas.toBlob(done));
    const link = element("a", { href: URL.createObjectURL(file), download: `${this.data.key}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  destroy() {
    this.resizing.disconnect();
    cancelAnimationFrame(this.noting);
    this.root.remove();
  }
}

// Writing an attribute makes the browser lay the element out again, even if it has that value.
const setChanged = (element, name, value) => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
};

const nodeAt = (event) => event.target.closest?.(".node") ?? null;

// XML, not markup of a page: nothing in it runs or is fetched.
const SVG = "http://www.w3.org/2000/svg";
const parse = (text) => document.adoptNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement);

// The mounts of this page draw through here; see graph_mount.js.
const draw = ({ data, parentElement, setStateValue }) => {
  let graph = graphs.get(parentElement);
  if (!graph) graphs.set(parentElement, (graph = new TreeGraph(parentElement, data.key)));
  graph.update(data, setStateValue);
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
