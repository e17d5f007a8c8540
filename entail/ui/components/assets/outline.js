// The tree as a list to walk: an ARIA tree whose rows lie flat, each saying its level, so that a change touches only
// the rows that it is about. STYLE (names, shapes) and CSS are put in front by entail/ui/outline.py.
const outlines = new WeakMap();

class TreeOutline {
  constructor(parentElement) {
    this.outbox = new Outbox();
    this.rows = new Map(); // by id, as they stand
    this.words = "";
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.field = element("input", {
      type: "search", placeholder: "Find in tree", "aria-label": "Find in tree", spellcheck: "false", autocomplete: "off",
    });
    this.all = tool("foldAll", "Collapse all", () => this.foldAll());
    this.connected = element("div", { role: "none" });
    this.apart = element("p", { class: "apart", "aria-hidden": "true" }); // the name of the group says it
    this.loose = element("div", { role: "group" });
    this.tree = element("div", { class: "rows", role: "tree" }, [this.connected, this.apart, this.loose]);
    this.hint = element("p", { class: "hint" });
    this.legend = element("ul", { class: "legend", "aria-label": "Legend" });
    this.root = element("div", { class: "outline" }, [
      element("div", { class: "tools", role: "toolbar", "aria-label": "Outline" }, [
        element("span", { class: "find" }, [this.field, this.count]),
        element("span", { class: "group" }, [this.all]),
      ]),
      this.tree, this.hint, this.legend,
    ]);
    const style = element("style");
    style.textContent = CSS;
    parentElement.append(style, this.root);
    this.field.addEventListener("input", () => this.find(this.field.value));
    this.field.addEventListener("keydown", (event) => this.pressInField(event));
    this.tree.addEventListener("keydown", (event) => this.press(event));
    this.tree.addEventListener("click", (event) => this.click(event));
    this.tree.addEventListener("dblclick", (event) => !onTwist(event) && this.open(this.rowAt(event)));
    // A click on the sign that folds leaves the focus where it is, at the row that keys are about.
    this.tree.addEventListener("mousedown", (event) => onTwist(event) && event.preventDefault());
    this.tree.addEventListener("focusin", (event) => this.attend(this.rowAt(event)));
  }

  update(data, setStateValue) {
    this.outbox.connect(setStateValue, data.acknowledged);
    const focused = this.hasFocus();
    const before = this.selected;
    this.selected = data.selected;
    this.collapsed = new Set(data.collapsed);
    for (const message of this.outbox.open) this.apply(message); // done here, and not there yet
    this.tree.setAttribute("aria-label", data.label);
    this.apart.textContent = data.apart;
    this.loose.setAttribute("aria-label", data.apart);
    this.hint.textContent = data.hint;
    this.hint.hidden = !data.hint;
    this.read(data.rows);
    const moved = this.selected !== before;
    if (moved) this.reader = null;
    this.paint(focused);
    if (moved) this.bringIntoSight();
  }

  hasFocus() {
    return this.tree.contains(this.tree.getRootNode().activeElement);
  }

  read(records) {
    const before = this.rows;
    this.rows = new Map(records.map(({ id }) => [id, before.get(id) ?? new Row()]));
    for (const [id, row] of before) if (!this.rows.has(id)) row.element.remove();
    let container = this.connected;
    let next = container.firstChild;
    let number = 0;
    for (const record of records) {
      const row = this.rows.get(record.id);
      row.update(record);
      if (row.parent !== null) this.rows.get(row.parent).below.push(row);
      else if (number && container !== this.loose) [container, next] = [this.loose, this.loose.firstChild];
      if (row.element === next) next = next.nextSibling;
      else container.insertBefore(row.element, next);
      number += 1;
    }
    const drawn = new Set(records.map(({ kind }) => kind));
    const entries = Object.entries(STYLE.names).filter(([kind]) => kind !== "rejected" || drawn.has(kind));
    this.legend.replaceChildren(...entries.map(([kind, name]) =>
      element("li", { "data-kind": kind }, [sample(STYLE.shapes[kind], { fill: "", border: "" }), name])));
  }

  // What is to be seen, which row stands for the selected node, and which takes the focus: the one that the reader is
  // at, or what hides it.
  paint(focused = this.hasFocus()) {
    const { words } = this;
    const rows = [...this.rows.values()];
    for (const row of [...rows].reverse()) {
      row.matches = words !== "" && row.lower.includes(words);
      row.isKept = !words || row.matches || row.below.some(({ isKept }) => isKept);
    }
    for (const row of rows) {
      const parent = this.rows.get(row.parent);
      row.open = row.below.some(({ isKept }) => isKept) && (words !== "" || !this.collapsed.has(row.id));
      row.shown = row.isKept && (!parent || (parent.shown && parent.open));
    }
    this.shown = rows.filter(({ shown }) => shown);
    const marked = this.nearestShown(this.rows.get(this.selected));
    if (this.reader && !this.rows.has(this.reader.id)) this.reader = null;
    this.current = this.nearestShown(this.reader) ?? marked ?? this.shown[0] ?? null;
    const roots = this.shown.filter(({ parent }) => parent === null);
    const ranks = new Map();
    for (const siblings of [roots, ...rows.map(({ below }) => below.filter(({ shown }) => shown))]) {
      siblings.forEach((row, at) => ranks.set(row, { position: at + 1, size: siblings.length }));
    }
    for (const row of rows) {
      row.show({ selected: row === marked, current: row === this.current, words, ...ranks.get(row) });
    }
    this.apart.hidden = this.loose.hidden = !this.shown.some((row) => this.loose.contains(row.element));
    this.count.textContent = words && String(rows.filter(({ matches }) => matches).length || "none");
    this.count.hidden = !words;
    this.paintAll();
    if (focused) this.current?.element.focus({ preventScroll: true });
  }

  paintAll() {
    const label = this.collapsed.size ? "Expand all" : "Collapse all";
    this.all.title = label;
    this.all.setAttribute("aria-label", label);
    this.all.disabled = this.words !== "" || (!this.collapsed.size && !this.conclusions().length);
  }

  nearestShown(row) {
    while (row && !row.shown) row = this.rows.get(row.parent);
    return row ?? null;
  }

  conclusions() {
    return [...this.rows.values()].filter(({ below, kind }) => below.length && kind !== "hypothesis");
  }

  bringIntoSight() {
    const item = this.current?.element;
    if (!item) return;
    const { offsetTop: top, offsetHeight: height } = item;
    const { scrollTop, clientHeight } = this.tree;
    if (top < scrollTop) this.tree.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.tree.scrollTop = Math.min(top, top + height - clientHeight);
  }

  // ---- what the reader does

  send(kind, ...nodes) {
    const messages = nodes.map((node) => ({ kind, node }));
    for (const message of messages) this.apply(message); // shown at once; Python's answer decides
    this.outbox.send(...messages);
    this.paint();
  }

  apply({ kind, node }) {
    if (kind === "select") this.selected = node;
    else if (kind === "collapse") this.collapsed.add(node);
    else this.collapsed.delete(node);
  }

  attend(row) {
    if (!row || row === this.current) return;
    this.reader = row;
    this.paint();
  }

  choose(row) {
    if (!row) return;
    this.reader = row;
    if (row.node !== this.selected) this.send("select", row.node);
    else this.paint();
  }

  go(row) {
    if (!row) return;
    this.choose(row);
    row.element.focus({ preventScroll: true });
    row.element.scrollIntoView({ block: "nearest" });
  }

  fold(row) {
    if (row.below.length && !this.words) this.send(row.open ? "collapse" : "expand", row.id);
  }

  open(row) {
    if (!row) return;
    this.choose(row);
    if (!row.open) this.fold(row);
  }

  // Expands all if anything is collapsed; else leaves the hypothesis and its premises.
  foldAll() {
    if (this.collapsed.size) this.send("expand", ...this.collapsed);
    else this.send("collapse", ...this.conclusions().map(({ id }) => id));
  }

  rowAt(event) {
    return this.rows.get(event.target.closest?.("[role=treeitem]")?.dataset.node);
  }

  click(event) {
    const row = this.rowAt(event);
    if (onTwist(event)) this.fold(row);
    else this.choose(row);
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const row = this.rowAt(event);
    if (!row) return;
    const at = this.shown.indexOf(row);
    const acts = {
      ArrowDown: () => this.go(this.shown[at + 1]),
      ArrowUp: () => this.go(this.shown[at - 1]),
      ArrowRight: () => (row.open ? this.go(row.below.find(({ shown }) => shown)) : this.fold(row)),
      ArrowLeft: () => (row.open && !this.words ? this.fold(row) : this.go(this.rows.get(row.parent))),
      Home: () => this.go(this.shown[0]),
      End: () => this.go(this.shown.at(-1)),
      Enter: () => this.open(row),
      " ": () => this.open(row),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  pressInField(event) {
    event.stopPropagation();
    if (event.key === "Escape") {
      this.field.value = "";
      this.find("");
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      event.preventDefault();
      this.go(this.shown.find(({ matches }) => matches) ?? this.current);
    }
  }

  find(words) {
    this.words = words.trim().toLowerCase();
    this.paint();
    if (!this.words) this.bringIntoSight();
  }
}

const onTwist = (event) => event.target.closest?.("[aria-expanded] > .twist") != null;

// The mounts of this page draw through here; see outline_mount.js.
const draw = ({ data, parentElement, setStateValue }) => {
  let outline = outlines.get(parentElement);
  if (!outline) outlines.set(parentElement, (outline = new TreeOutline(parentElement)));
  outline.update(data, setStateValue);
  return whenGone(parentElement, () => {
    outline.outbox.close();
    outline.root.remove();
    outlines.delete(parentElement);
  });
};

export default function ({ parentElement }) {
  meetingPoint("outline").resolve(draw);
  return whenGone(parentElement, takeNoRoom(parentElement));
}
