// What stands around the canvas: tools, search, legend, map.
class Panel {
  constructor(actions) {
    this.found = element("output", { class: "count", "aria-live": "polite" });
    this.field = element("input", {
      type: "search", placeholder: "Find in tree", "aria-label": "Find in tree", spellcheck: "false", autocomplete: "off",
    });
    this.previous = tool("previous", "Previous match (Shift+Enter)", () => actions.step(-1));
    this.next = tool("next", "Next match (Enter)", () => actions.step(1));
    this.fold = tool("fold", "Collapse the selected node", actions.fold);
    this.foldAll = tool("foldAll", "Collapse all", actions.foldAll);
    const screen = tool("screen", "Full screen", actions.screen);
    this.field.addEventListener("input", () => actions.find(this.field.value));
    this.field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") actions.step(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        this.field.value = "";
        actions.find("");
      }
    });
    this.tools = element("div", { class: "tools", role: "toolbar", "aria-label": "Graph" }, [
      element("span", { class: "find" }, [this.field, this.found, this.previous, this.next]),
      element("span", { class: "group" }, [
        this.fold,
        this.foldAll,
        tool("out", "Zoom out", () => actions.zoom(1 / 1.3)),
        tool("in", "Zoom in", () => actions.zoom(1.3)),
        tool("fit", "Fit the whole tree", actions.fit),
        ...(document.fullscreenEnabled ? [screen] : []),
      ]),
    ]);
    this.legend = element("ul", { class: "legend", "aria-label": "Legend" });
    this.hint = element("p", { class: "hint" });
  }

  showLegend(entries, looks) {
    this.legend.replaceChildren(
      ...entries.map(({ kind, name }) => element("li", {}, [sample(STYLE.shapes[kind], looks[kind]), name])),
    );
  }

  showFound(words, total, at) {
    const searching = words !== "";
    this.found.textContent = !searching ? "" : total ? `${at + 1} / ${total}` : "none";
    for (const part of [this.found, this.previous, this.next]) part.hidden = !searching;
    this.previous.disabled = this.next.disabled = total < 2;
  }

  showFold(node, collapsed, records) {
    const name = (button, label, pressed) => {
      button.title = label;
      button.setAttribute("aria-label", label);
      button.setAttribute("aria-pressed", String(pressed));
    };
    const some = collapsed.length > 0;
    const one = Boolean(node?.collapsed);
    name(this.fold, one ? "Expand the selected node" : "Collapse the selected node", one);
    name(this.foldAll, some ? "Expand all" : "Collapse all", some);
    this.fold.disabled = !node?.below;
    this.foldAll.disabled = !some && ![...records.values()].some(({ below, group }) => below && group !== "hypothesis");
  }
}

// A small picture of the whole tree, with a frame around what is in view; a click goes there.
class TreeMap {
  constructor(goTo) {
    this.canvas = element("canvas", { class: "map", "aria-hidden": "true" });
    const go = (event) => {
      if (!this.place || (event.type === "pointermove" && !event.buttons)) return;
      event.stopPropagation();
      goTo({
        x: (event.offsetX - this.place.left) / this.place.scale,
        y: (event.offsetY - this.place.top) / this.place.scale,
      });
    };
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", go);
  }

  paint(nodes, box, view, theme, selected) {
    this.canvas.hidden = holds(view, box);
    if (this.canvas.hidden) return;
    const [width, density] = [180, window.devicePixelRatio || 1];
    const height = Math.round(Math.min(120, Math.max(36, ((width - 12) * (box.bottom - box.top)) / (box.right - box.left) + 12)));
    const [wide, high] = [Math.round(width * density), Math.round(height * density)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      Object.assign(this.canvas, { width: wide, height: high });
      Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    }
    const ctx = this.canvas.getContext("2d");
    const scale = Math.min((width - 12) / (box.right - box.left), (height - 12) / (box.bottom - box.top));
    const left = width / 2 - (scale * (box.left + box.right)) / 2;
    const top = height / 2 - (scale * (box.top + box.bottom)) / 2;
    this.place = { scale, left, top };
    ctx.setTransform(density, 0, 0, density, 0, 0);
    ctx.clearRect(0, 0, width, height);
    for (const node of nodes) {
      ctx.fillStyle = node.id === selected ? theme.accent : theme.looks[node.group].border;
      const [w, h] = [Math.max(2, node.width * scale), Math.max(2, node.height * scale)];
      ctx.fillRect(left + node.x * scale - w / 2, top + node.y * scale - h / 2, w, h);
    }
    const frame = [
      Math.max(1, left + view.left * scale), Math.max(1, top + view.top * scale),
      Math.min(width - 1, left + view.right * scale), Math.min(height - 1, top + view.bottom * scale),
    ];
    ctx.strokeStyle = theme.text;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(frame[0], frame[1], frame[2] - frame[0], frame[3] - frame[1]);
  }
}
