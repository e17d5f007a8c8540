// The part of the picture that is seen: zoom by size, position by the scrolling of the browser.
const FONT = 15; // pixels of the letters at zoom 1, see graph.css
const SMALLEST = 11 / FONT; // zoom down to which a tree is made smaller so that all of it is seen
const READABLE = 13 / FONT; // zoom of a tree that is too large to be seen as a whole
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const remembered = new Map(); // key of a graph -> where the reader was, for when it is drawn anew

class View {
  constructor(scroller, key, onMove) {
    Object.assign(this, { scroller, key, onMove, scale: 1, free: false, begun: false });
    scroller.addEventListener("scroll", () => this.moved(), { passive: true });
  }

  // Where the first of these nodes is that is drawn, which should stay there.
  hold(ids) {
    return this.begun ? ids.map((id) => ({ id, spot: this.spot(id) })).find(({ spot }) => spot) : undefined;
  }

  // Takes in the picture as it is now, its nodes by id, and the node that is to stay where it stood.
  change(picture, nodes, size, anchor) {
    Object.assign(this, { picture, size, nodes });
    if (picture.parentNode !== this.scroller) this.scroller.replaceChildren(picture);
    this.resize();
    if (!this.begun) return this.begin();
    if (!this.free && this.whole() >= SMALLEST) return this.fit();
    const spot = anchor && this.spot(anchor.id);
    if (spot) this.scroller.scrollBy(spot.x - anchor.spot.x, spot.y - anchor.spot.y);
    this.moved();
  }

  // Where the middle of a node is, seen from the corner of what is in view.
  spot(id) {
    const shape = this.nodes?.get(id)?.querySelector(".shape");
    if (!shape) return null;
    const [box, frame] = [shape.getBoundingClientRect(), this.scroller.getBoundingClientRect()];
    return { x: box.x + box.width / 2 - frame.x, y: box.y + box.height / 2 - frame.y, box, frame };
  }

  resize() {
    this.picture.style.width = `${this.size.width * this.scale}px`;
    this.picture.style.height = `${this.size.height * this.scale}px`;
    this.picture.classList.toggle("tiny", this.scale < 0.3);
  }

  whole() {
    const { clientWidth, clientHeight } = this.scroller;
    return Math.min(1, clientWidth / this.size.width, clientHeight / this.size.height);
  }

  begin() {
    if (!this.scroller.clientWidth || !this.scroller.clientHeight) return; // in a closed tab: `resized` comes back
    this.begun = true;
    const before = remembered.get(this.key);
    if (before) {
      Object.assign(this, { scale: before.scale, free: before.free });
      this.resize();
      this.scroller.scrollTo(before.left, before.top);
      return this.moved();
    }
    this.begunAt();
  }

  // The whole tree if it can be read; else from the first node on, in letters that can be read.
  begunAt() {
    const whole = this.whole();
    if (whole >= SMALLEST) return this.fit();
    this.scale = READABLE;
    this.resize();
    this.centre(this.nodes.keys().next().value);
    this.moved();
  }

  fit() {
    this.free = false;
    this.scale = this.whole();
    this.resize();
    this.moved();
  }

  zoom(by, at = { x: this.scroller.clientWidth / 2, y: this.scroller.clientHeight / 2 }) {
    const [old, box] = [this.scale, this.picture.getBoundingClientRect()];
    const frame = this.scroller.getBoundingClientRect();
    const [x, y] = [(frame.x + at.x - box.x) / old, (frame.y + at.y - box.y) / old];
    this.free = true;
    this.scale = Math.min(3, Math.max(0.05, old * by));
    this.resize();
    const now = this.picture.getBoundingClientRect();
    this.scroller.scrollBy(now.x + x * this.scale - frame.x - at.x, now.y + y * this.scale - frame.y - at.y);
    this.moved();
  }

  reveal(id, { slowly = true } = {}) {
    const spot = this.spot(id);
    if (!spot) return;
    const past = (low, high, from, to) => (low < from + 8 ? low - from - 8 : high > to - 8 ? high - to + 8 : 0);
    const { box, frame } = spot;
    const behavior = slowly && !calm.matches ? "smooth" : "instant";
    this.scroller.scrollBy({
      left: past(box.left, box.right, frame.left, frame.right),
      top: past(box.top, box.bottom, frame.top, frame.bottom),
      behavior,
    });
  }

  centre(id) {
    const spot = this.spot(id);
    if (!spot) return;
    const { clientWidth, clientHeight } = this.scroller;
    this.scroller.scrollBy(spot.x - clientWidth / 2, spot.y - clientHeight / 2);
  }

  // A larger frame shows more of the tree, not larger letters.
  resized() {
    if (!this.picture) return;
    if (!this.begun) this.begin();
    else if (!this.free) this.begunAt();
    else this.moved();
  }

  moved() {
    const { scrollLeft: left, scrollTop: top } = this.scroller;
    if (this.begun && this.scroller.clientWidth) {
      remembered.set(this.key, { left, top, scale: this.scale, free: this.free });
    }
    this.onMove();
  }
}

// A small picture of the whole tree, with a frame around what is in view; a click goes there.
class TreeMap {
  constructor(view) {
    this.view = view;
    this.frame = svg("rect", { class: "frame" });
    this.boxes = svg("g", {});
    this.root = svg("svg", { class: "map", "aria-hidden": "true" }, [this.boxes, this.frame]);
    const go = (event) => {
      if (event.type === "pointermove" && !event.buttons) return;
      const [box, { scroller }] = [this.root.getBoundingClientRect(), view];
      view.free = true;
      scroller.scrollTo(
        ((event.clientX - box.x) / box.width) * scroller.scrollWidth - scroller.clientWidth / 2,
        ((event.clientY - box.y) / box.height) * scroller.scrollHeight - scroller.clientHeight / 2,
      );
    };
    for (const kind of ["pointerdown", "pointermove"]) this.root.addEventListener(kind, go);
  }

  // One path for each kind: it costs nothing, however many nodes there are.
  change(nodes, { width, height }, margin) {
    const paths = new Map();
    for (const node of nodes.values()) {
      const at = node.getAttribute("transform").slice("translate(".length, -1);
      const { width: w, height: h } = node.querySelector(".shape").attributes;
      const kind = node.classList[1];
      paths.set(kind, `${paths.get(kind) ?? ""}M${at}h${w.value}v${h.value}h-${w.value}z`);
    }
    this.boxes.replaceChildren(...[...paths].map(([kind, d]) => svg("path", { class: kind, d })));
    const scale = Math.min(170 / width, 220 / height);
    this.root.setAttribute("viewBox", `-${margin} -${margin} ${width} ${height}`);
    Object.assign(this.root.style, { width: `${width * scale}px`, height: `${height * scale}px` });
    Object.assign(this, { margin, size: { width, height } });
  }

  show() {
    const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = this.view.scroller;
    const all = scrollWidth <= clientWidth + 1 && scrollHeight <= clientHeight + 1;
    this.root.toggleAttribute("hidden", all);
    if (all || !this.size) return;
    const { width, height } = this.size;
    const part = (value, whole, size) => (value / whole) * size;
    const frame = {
      x: part(scrollLeft, scrollWidth, width) - this.margin, y: part(scrollTop, scrollHeight, height) - this.margin,
      width: part(clientWidth, scrollWidth, width), height: part(clientHeight, scrollHeight, height),
    };
    for (const [name, value] of Object.entries(frame)) this.frame.setAttribute(name, value);
  }
}
