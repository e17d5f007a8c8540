// The tree as text to read and to walk: an ARIA tree whose rows lie flat, each saying its level.
// VIEW and HTML are put in front by entail/ui/components/outline.py.
class TreeView {
  constructor(parentElement) {
    Object.assign(this, { outbox: new Outbox(), rows: new Map() });
    this.root = furnish(parentElement, ".outline");
    for (const name of ["count", "hint", "legend"]) this[name] = this.root.querySelector(`.${name}`);
    [this.tree, this.all] = [this.root.querySelector(".rows"), this.root.querySelector("button")];
    this.field = findField(this.root, (by) => this.find(by));
    this.all.addEventListener("click", () => this.foldAll());
    const on = (name, act) => this.tree.addEventListener(name, act);
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
    return this.tree.contains(this.tree.getRootNode().activeElement);
  }

  build({ rows, label, apart }) {
    this.drawn = JSON.stringify(rows);
    this.rows = new Map(rows.map((row) => [row.id, { ...row, below: [], lower: row.text.toLowerCase(), element: draw(row) }]));
    const loose = element("ul", { role: "group", "aria-label": apart });
    const connected = element("ul", { role: "none" });
    let list = connected;
    for (const row of this.rows.values()) {
      this.rows.get(row.parent)?.below.push(row);
      if (row.parent === null && connected.firstChild) list = loose;
      list.append(row.element);
    }
    this.loose = [element("p", { class: "apart", "aria-hidden": "true" }, [apart]), loose];
    this.tree.setAttribute("aria-label", label);
    this.tree.replaceChildren(connected, ...this.loose);
    this.reader = this.rows.get(this.reader?.id);
    for (const entry of this.legend.children) entry.hidden = !rows.some(({ kind }) => kind === entry.dataset.kind);
  }

  // Shows what is to be seen, which row stands for the selected node, and which takes the focus: the one that the
  // reader is at, or what hides it.
  paint(focused = this.hasFocus()) {
    const words = this.field.value.trim().toLowerCase();
    const rows = [...this.rows.values()];
    for (const row of rows.toReversed()) {
      row.matches = words !== "" && row.lower.includes(words);
      row.isKept = !words || row.matches || row.below.some(({ isKept }) => isKept);
    }
    for (const row of rows) {
      const parent = this.rows.get(row.parent);
      row.folds = row.below.some(({ isKept }) => isKept);
      row.open = row.folds && (words !== "" || !this.collapsed.has(row.id));
      row.shown = row.isKept && (!parent || (parent.shown && parent.open));
    }
    this.shown = rows.filter(({ shown }) => shown);
    const marked = this.nearestShown(this.rows.get(this.selected));
    this.current = this.nearestShown(this.reader) ?? marked ?? this.shown[0] ?? null;
    for (const row of rows) {
      Object.assign(row.element, {
        hidden: !row.shown, tabIndex: row === this.current ? 0 : -1,
        ariaExpanded: row.folds ? String(row.open) : null, ariaSelected: String(row === marked),
      });
      row.element.classList.toggle("only-above", words !== "" && !row.matches);
    }
    for (const part of this.loose) part.hidden = !this.shown.some(({ element }) => this.loose[1].contains(element));
    this.count.textContent = words && String(rows.filter(({ matches }) => matches).length || "none");
    const label = this.collapsed.size ? "Expand all" : "Collapse all";
    const disabled = words !== "" || (!this.collapsed.size && !this.conclusions().length);
    Object.assign(this.all, { title: label, ariaLabel: label, disabled });
    if (focused) this.current?.element.focus({ preventScroll: true });
  }

  nearestShown(row) {
    while (row && !row.shown) row = this.rows.get(row.parent);
    return row ?? null;
  }

  conclusions() {
    return [...this.rows.values()].filter(({ below, kind }) => below.length && kind !== "hypothesis").map(({ id }) => id);
  }

  // Scrolls the rows only, never the page.
  bringIntoSight() {
    if (!this.current) return;
    const { offsetTop: top, offsetHeight: height } = this.current.element;
    const { scrollTop, clientHeight } = this.tree;
    if (top < scrollTop) this.tree.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.tree.scrollTop = Math.min(top, top + height - clientHeight);
  }

  send(kind, ...nodes) {
    const messages = nodes.map((node) => ({ kind, node }));
    for (const message of messages) this.apply(message); // shown at once; Python's answer decides
    this.outbox.send(...messages);
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
    if (row.below.length && !this.field.value) this.send(row.open ? "collapse" : "expand", row.id);
    this.paint();
  }

  open(row) {
    if (!row) return;
    this.choose(row);
    if (!row.open) this.fold(row);
  }

  // Expands all if anything is collapsed; else leaves the hypothesis and its premises.
  foldAll() {
    if (this.collapsed.size) this.send("expand", ...this.collapsed);
    else this.send("collapse", ...this.conclusions());
    this.paint();
  }

  rowAt(event) {
    return this.rows.get(event.target.closest?.("[role=treeitem]")?.dataset.node);
  }

  press(event) {
    const row = this.rowAt(event);
    if (!row || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    const at = this.shown.indexOf(row);
    const acts = {
      ArrowDown: () => this.go(this.shown[at + 1]),
      ArrowUp: () => this.go(this.shown[at - 1]),
      ArrowRight: () => (row.open ? this.go(row.below.find(({ shown }) => shown)) : this.fold(row)),
      ArrowLeft: () => (row.open && !this.field.value ? this.fold(row) : this.go(this.rows.get(row.parent))),
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

  find(by) {
    this.paint(false);
    if (by) this.go(this.shown.find(({ matches }) => matches) ?? this.current);
    else this.bringIntoSight();
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
