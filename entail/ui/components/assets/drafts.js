const openDialog = () => document.querySelector('[role="dialog"][aria-modal="true"], [data-testid="stDialog"], dialog[open]');

// What is typed into a dialog, or as the claim of a new tree, reaches Python with its button alone. Until then the
// browser keeps it, so that it is there again after Escape, a click elsewhere, a lost connection or a reload.
class Drafts {
  constructor() {
    this.watch = new MutationObserver(() => this.look());
    this.watch.observe(document.body, { childList: true, subtree: true });
    this.timer = setInterval(() => this.restore(), 250);
    document.addEventListener("input", this.keep, true);
    document.addEventListener("submit", this.send, true);
    document.addEventListener("click", this.send, true);
    this.look();
  }

  look() {
    const dialog = openDialog() ?? document.querySelector(".st-key-start_box");
    if (dialog !== this.dialog) {
      if (this.isSaved()) sessionStorage.removeItem(this.name);
      Object.assign(this, { dialog, field: null, isSent: false });
    }
    const field = dialog?.querySelector(this.isClaim() ? ".st-key-start_text input" : "textarea") ?? null;
    if (field !== null) this.follow(field);
  }

  isClaim() {
    return this.dialog?.matches(".st-key-start_box");
  }

  // The app may draw the field again under the author's hands, or what names it only after it.
  follow(field) {
    if (field !== this.field) Object.assign(this, { field, initial: field.value });
    else if (field.value !== this.initial || this.name === this.nameOf()) return;
    this.name = this.nameOf();
  }

  // While the script runs, the app may draw the field once more, empty, and would save what it knows: nothing.
  restore() {
    if (isRunning() || !this.field || this.field.value !== this.initial || this.isSaved()) return;
    const draft = sessionStorage.getItem(this.name);
    if (draft === null) return;
    // React hears only of values that are set as a browser sets them.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(this.field), "value").set.call(this.field, draft);
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // A dialog that has gone after its button was pressed, and said nothing against it, has saved the text.
  isSaved() {
    return this.isSent && !this.isClaim() && this.dialog.querySelector('[data-testid="stAlert"]') === null;
  }

  nameOf() {
    if (this.isClaim()) return `claim\n${this.initial}`;
    return ["draft", location.search, this.dialog.getAttribute("aria-label"), this.words(), this.initial].join("\n");
  }

  // Heading and first caption: what the dialog does, and to which node.
  words() {
    const parts = [this.dialog.querySelector("h1, h2, h3"), this.dialog.querySelector('[data-testid="stCaptionContainer"]')];
    return parts.map((part) => part?.textContent ?? "").join("\n");
  }

  keep = (event) => {
    if (!this.field || event.target !== this.field) return;
    this.isSent = false;
    if (this.name !== this.nameOf()) sessionStorage.removeItem(this.name);
    this.name = this.nameOf();
    if (event.target.value === this.initial) sessionStorage.removeItem(this.name);
    else sessionStorage.setItem(this.name, event.target.value);
  };

  send = (event) => {
    if (!this.field || !(event.target instanceof Element) || !this.dialog.contains(event.target)) return;
    if (event.target.closest('[data-testid="stFormSubmitButton"]') !== null) this.isSent = true;
  };

  close() {
    this.watch.disconnect();
    clearInterval(this.timer);
    document.removeEventListener("input", this.keep, true);
    document.removeEventListener("submit", this.send, true);
    document.removeEventListener("click", this.send, true);
  }
}
