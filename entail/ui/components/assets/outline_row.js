// One row of the outline. All that anybody wrote goes in as text.
const DEEPEST = 12; // levels that are set in; what is deeper stands no further right
const TWIST = "M9 6l6 6-6 6";

class Row {
  constructor() {
    const sign = svg("svg", { viewBox: "0 0 24 24", width: "16", height: "16", "aria-hidden": "true" }, [
      svg("path", { d: TWIST, fill: "none", stroke: "currentColor", "stroke-width": "2.5", "stroke-linecap": "round" }),
    ]);
    this.twist = element("span", { class: "twist" }, [sign]);
    this.shape = element("span", { class: "shape" });
    this.words = element("span", { class: "words", dir: "auto" });
    this.kindWord = element("span", { class: "unseen" });
    this.notes = element("span", { class: "notes" });
    this.element = element("div", { role: "treeitem", tabindex: "-1" }, [
      this.twist, this.shape, element("span", { class: "sentence" }, [this.words, this.kindWord, this.notes]),
    ]);
  }

  // Takes what Python says of the row; where it stands among the others comes with `show`.
  update(record) {
    const { kind, text, level, caption, marks } = record;
    this.below = [];
    if (JSON.stringify(record) === this.drawn) return;
    Object.assign(this, record, { drawn: JSON.stringify(record), lower: text.toLowerCase(), painted: null });
    Object.assign(this.element.dataset, { node: record.id, kind });
    this.element.title = caption;
    this.element.setAttribute("aria-level", level);
    this.element.style.setProperty("--depth", Math.min(level, DEEPEST) - 1);
    this.shape.replaceChildren(sample(STYLE.shapes[kind], { fill: "", border: "" }));
    this.kindWord.textContent = ` (${STYLE.names[kind]})`;
    this.notes.replaceChildren(...marks.flatMap((mark) => [" · ", element("span", { "data-mark": mark }, [mark])]));
  }

  show({ selected, current, words, position, size }) {
    const item = this.element;
    item.hidden = !this.shown;
    if (!this.shown) return;
    if (this.below.some(({ isKept }) => isKept)) item.setAttribute("aria-expanded", this.open);
    else item.removeAttribute("aria-expanded");
    item.setAttribute("aria-selected", selected);
    item.setAttribute("aria-posinset", position);
    item.setAttribute("aria-setsize", size);
    item.tabIndex = current ? 0 : -1;
    item.classList.toggle("only-above", words !== "" && !this.matches);
    if (this.painted !== words) this.highlight(words);
  }

  highlight(words) {
    this.painted = words;
    const parts = [];
    let end = 0;
    for (let at = words && this.lower.indexOf(words); words && at >= 0; at = this.lower.indexOf(words, end)) {
      parts.push(this.text.slice(end, at), element("mark", {}, [this.text.slice(at, at + words.length)]));
      end = at + words.length;
    }
    this.words.replaceChildren(...parts, this.text.slice(end));
  }
}
