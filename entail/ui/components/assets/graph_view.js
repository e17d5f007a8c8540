// What part of the tree is seen, and that it stays where it is while the tree changes.
const LEGIBLE = 12; // pixels: text is not made smaller than this, unless the reader does
const MARGIN = { top: 52, right: 12, bottom: 52, left: 12 }; // for what stands around the tree
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const remembered = new Map(); // key of a graph -> where the reader was, for when it is drawn anew

const holds = (frame, box) =>
  frame.left <= box.left && frame.right >= box.right && frame.top <= box.top && frame.bottom >= box.bottom;

class View {
  constructor(network, place, key, onMove) {
    Object.assign(this, { network, place, key, onMove });
    this.records = new Map();
    this.free = false; // whether the reader has moved it
    this.begun = false;
  }

  // Takes in the tree as it is now; `size` is that of its text at zoom 1.
  change(records, selected, size) {
    const [before, moved] = [this.records, this.selected !== selected];
    Object.assign(this, { records, selected, legible: LEGIBLE / size });
    if (this.begun) this.keepPlace(before, moved);
    else this.begin();
  }

  remember() {
    remembered.set(this.key, { scale: this.network.getScale(), position: this.network.getViewPosition(), free: this.free });
  }

  stop() {
    cancelAnimationFrame(this.moving);
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

  box() {
    const all = [...this.records.values()];
    return {
      left: Math.min(...all.map((node) => node.x - node.width / 2)),
      right: Math.max(...all.map((node) => node.x + node.width / 2)),
      top: Math.min(...all.map((node) => node.y - node.height / 2)),
      bottom: Math.max(...all.map((node) => node.y + node.height / 2)),
    };
  }

  frame() {
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
    const before = remembered.get(this.key);
    if (before) {
      this.free = before.free;
      return this.lookAt({ scale: before.scale, position: before.position });
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
    const [box, frame] = [this.box(), this.frame()];
    const inside = holds(frame, box);
    if (!this.free && !inside && whole.scale >= this.legible) this.lookAt(whole, { slowly: true });
    else if (moved) this.reveal(this.selected, true);
  }

  reveal(id, slowly) {
    const node = this.records.get(id);
    if (!node || !this.place.clientWidth) return;
    const [frame, scale, { x, y }] = [this.frame(), this.network.getScale(), this.network.getViewPosition()];
    const past = (low, high, from, to) => (low < from ? low - from : high > to ? high - to : 0);
    const by = {
      x: past(node.x - node.width / 2, node.x + node.width / 2, frame.left + MARGIN.left / scale, frame.right - MARGIN.right / scale),
      y: past(node.y - node.height / 2, node.y + node.height / 2, frame.top + MARGIN.top / scale, frame.bottom - MARGIN.bottom / scale),
    };
    if (by.x || by.y) this.lookAt({ position: { x: x + by.x, y: y + by.y } }, { slowly });
  }

  lookAt(view, { byReader = false, slowly = false } = {}) {
    if (byReader) this.free = true;
    cancelAnimationFrame(this.moving);
    this.moving = null;
    this.onMove();
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
}
