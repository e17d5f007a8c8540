// The tree as text to read and to walk: an ARIA tree whose rows lie flat, each saying its level.
// VIEW and HTML are put in front by entail/ui/components/tree_view.py.
class TreeView {
  constructor(parentElement) {
    Object.assign(this, { outbox: new Outbox(), all: new Map() });
    this.root = furnish(parentElement, ".outline");
    for (const name of ["rows", "hint", "legend"]) this[name] = this.root.querySelector(`.${name}`);
    const on = (name, act) => this.rows.addEventListener(name, act);
    on("keydown", (event) => this.press(event));
    on("click", (event) => (onTwist(event) ? this.fold(this.rowAt(event)) : this.choose(this.rowAt(event))));
    on("dblclick", (event) => onTwist(event) || this.open(this.rowAt(event)));
    // A click on the sign that folds leaves the focus where it is, at the row that keys are about.
    on("mousedown", (event) => onTwist(event) && event.preventDefault());
    on("focusin", (event) => this.rowAt(event) === this.current || this.paint(true, (this.reader = this.rowAt(event))));
  }

  update(data, setStateValue) {
    this.outbox.connect(setStateValue, data.acknowledged);
    const [focused, before] = [this.hasFocus(), this.selected];
    Object.assign(this, { selected: data.selected, collapsed: new Set(data.collapsed) });
    for (const message of this.outbox.open) this.apply(message); // done here, and not there yet
    this.hint.textContent = data.hint;
    if (JSON.stringify(data.rows) !== this.drawn) this.build(data);
    if (this.selected !== before) this.reader = null;
    this.paint(focused);
    if (this.selected !== before) this.bringIntoSight();
  }

  hasFocus() {
    return this.rows.contains(this.rows.getRootNode().activeElement);
  }

  build({ rows, label, apart }) {
    this.drawn = JSON.stringify(rows);
    this.all = new Map(rows.map((row) => [row.id, { ...row, below: [], element: draw(row) }]));
    const loose = element("ul", { role: "group", "aria-label": apart });
    const connected = element("ul", { role: "none" });
    let list = connected;
    for (const row of this.all.values()) {
      this.all.get(row.parent)?.below.push(row);
      if (row.parent === null && connected.firstChild) list = loose;
      list.append(row.element);
    }
    this.loose = [element("p", { class: "apart", "aria-hidden": "true" }, [apart]), loose];
    this.rows.setAttribute("aria-label", label);
    this.rows.replaceChildren(connected, ...this.loose);
    this.reader = this.all.get(this.reader?.id);
    for (const entry of this.legend.children) entry.hidden = !rows.some(({ kind }) => kind === entry.dataset.kind);
  }

  // Shows what is to be seen, which row stands for the selected node, and which takes the focus: the one that the
  // reader is at, or what hides it.
  paint(focused = this.hasFocus()) {
    const rows = [...this.all.values()];
    for (const row of rows) {
      const parent = this.all.get(row.parent);
      row.open = row.below.length > 0 && !this.collapsed.has(row.id);
      row.shown = !parent || (parent.shown && parent.open);
    }
    this.shown = rows.filter(({ shown }) => shown);
    const marked = this.nearestShown(this.all.get(this.selected));
    this.current = this.nearestShown(this.reader) ?? marked ?? this.shown[0] ?? null;
    for (const row of rows) {
      Object.assign(row.element, {
        hidden: !row.shown, tabIndex: row === this.current ? 0 : -1,
        ariaExpanded: row.below.length ? String(row.open) : null, ariaSelected: String(row === marked),
      });
    }
    for (const part of this.loose) part.hidden = !this.loose[1].firstChild;
    if (focused) this.current?.element.focus({ preventScroll: true });
  }

  nearestShown(row) {
    while (row && !row.shown) row = this.all.get(row.parent);
    return row ?? null;
  }

  // Scrolls the rows only, never the page.
  bringIntoSight() {
    if (!this.current) return;
    const { offsetTop: top, offsetHeight: height } = this.current.element;
    const { scrollTop, clientHeight } = this.rows;
    if (top < scrollTop) this.rows.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.rows.scrollTop = Math.min(top, top + height - clientHeight);
  }

  send(kind, node) {
    this.apply({ kind, node }); // shown at once; Python's answer decides
    this.outbox.send({ kind, node });
  }

  apply({ kind, node }) {
    if (kind === "select") this.selected = node;
    else if (kind === "collapse") this.collapsed.add(node);
    else this.collapsed.delete(node);
  }

  choose(row) {
    if (!row) return;
    this.reader = row;
    if (row.node !== this.selected) this.send("select", row.node);
    this.paint();
  }

  go(row) {
    if (!row) return;
    this.choose(row);
    row.element.focus({ preventScroll: true });
    row.element.scrollIntoView({ block: "nearest" });
  }

  fold(row) {
    if (row.below.length) this.send(row.open ? "collapse" : "expand", row.id);
    this.paint();
  }

  open(row) {
    if (!row) return;
    this.choose(row);
    if (!row.open) this.fold(row);
  }

  rowAt(event) {
    return this.all.get(event.target.closest?.("[role=treeitem]")?.dataset.node);
  }

  press(event) {
    const row = this.rowAt(event);
    if (!row || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const at = this.shown.indexOf(row);
    const acts = {
      ArrowDown: () => this.go(this.shown[at + 1]),
      ArrowUp: () => this.go(this.shown[at - 1]),
      ArrowRight: () => (row.open ? this.go(row.below[0]) : this.fold(row)),
      ArrowLeft: () => (row.open ? this.fold(row) : this.go(this.all.get(row.parent))),
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
}

const onTwist = (event) => event.target.closest?.("[aria-expanded] > .twist") != null;

const draw = ({ id, kind, text, level, caption, marks, shape, name, position, size }) =>
  treeItem({
    id, level, "data-kind": kind, title: caption, style: `--depth: ${Math.min(level, 12) - 1}`, // deeper rows stand no further right
    "aria-posinset": position, "aria-setsize": size,
  }, [
    element("span", { class: "twist" }), element("span", { class: `key ${shape}` }),
    element("span", { class: "sentence" }, [
      element("span", { dir: "auto" }, [text]), element("span", { class: "unseen" }, [` (${name})`]),
      element("span", { class: "notes" }, marks.flatMap((mark) => [" · ", element("span", { "data-mark": mark }, [mark])])),
    ]),
  ]);
