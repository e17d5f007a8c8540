// What is typed into a dialog reaches Python with its button alone. Until then the browser keeps it, so that a
// dialog closed by Escape, by a click beside it or by a lost connection opens again with what was typed.
class Drafts {
  constructor() {
    this.watch = new MutationObserver(() => this.look());
    this.watch.observe(document.body, { childList: true, subtree: true });
    document.addEventListener("input", this.keep, true);
    document.addEventListener("submit", this.send, true);
    document.addEventListener("click", this.send, true);
  }

  look() {
    const dialog = openDialog();
    if (dialog === this.dialog) {
      if (dialog !== null && !this.field) this.begin();
      return;
    }
    // A dialog that has gone after its button was pressed, and said nothing against it, has saved the text.
    if (this.isSent && !this.dialog.querySelector('[data-testid="stAlert"]')) sessionStorage.removeItem(this.name);
    Object.assign(this, { dialog, field: null, isSent: false });
    if (dialog !== null) this.begin();
  }

  begin() {
    const field = this.dialog.querySelector("textarea");
    if (field === null) return;
    Object.assign(this, { field, initial: field.value });
    this.name = ["draft", location.search, this.dialog.getAttribute("aria-label"), this.words(), field.value].join("\n");
    const kept = sessionStorage.getItem(this.name);
    if (kept === null) return;
    // React hears only of values that are set as a browser sets them.
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, kept);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // Heading and first caption: what the dialog does, and to which node.
  words() {
    const parts = [this.dialog.querySelector("h1, h2, h3"), this.dialog.querySelector('[data-testid="stCaptionContainer"]')];
    return parts.map((part) => part?.textContent ?? "").join("\n");
  }

  keep = (event) => {
    if (!this.field || event.target !== this.dialog.querySelector("textarea")) return;
    this.isSent = false;
    if (event.target.value === this.initial) sessionStorage.removeItem(this.name);
    else sessionStorage.setItem(this.name, event.target.value);
  };

  send = (event) => {
    if (!this.field || !(event.target instanceof Element) || !this.dialog.contains(event.target)) return;
    if (event.target.closest('[data-testid="stFormSubmitButton"]') !== null) this.isSent = true;
  };

  close() {
    this.watch.disconnect();
    document.removeEventListener("input", this.keep, true);
    document.removeEventListener("submit", this.send, true);
    document.removeEventListener("click", this.send, true);
  }
}
