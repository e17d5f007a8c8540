const NAMED = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Enter: "enter", Escape: "escape",
  " ": "space", Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown", Delete: "delete",
  Backspace: "backspace",
};
const MOVING = new Set(["up", "down", "left", "right", "home", "end", "pageup", "pagedown"]);
const PRESSING = new Set(["enter", "space"]);
const TYPED = new Set(["button", "checkbox", "color", "file", "image", "radio", "range", "reset", "submit"]);

// The key's name, whatever the layout: digits by their place on the keyboard, the rest by what they write.
const nameOf = (event) => {
  const altGraph = event.getModifierState("AltGraph");
  const punctuation = event.key.length === 1 && !/[\p{L}\p{N}\s]/u.test(event.key);
  if (event.metaKey || ((event.ctrlKey || event.altKey) && !(punctuation && (altGraph || !event.ctrlKey)))) return null;
  if (event.altKey || altGraph) return punctuation ? event.key : null;
  const shift = event.shiftKey ? "shift+" : "";
  const digit = /^(Digit|Numpad)(\d)$/.exec(event.code);
  if (digit?.[1] === "Digit") return shift + digit[2];
  if (digit) {
    if (/^\d$/.test(event.key)) return shift + digit[2];
    // Windows hides the shift of a numeric pad and says what the key would do without the lock.
    if (event.shiftKey || event.getModifierState("NumLock")) return "shift+" + digit[2];
  }
  if (event.key in NAMED) return shift + NAMED[event.key];
  if (/^[a-z]$/i.test(event.key)) return shift + event.key.toLowerCase();
  if (punctuation) return event.key;
  const letter = /^Key([A-Z])$/.exec(event.code);
  return letter ? shift + letter[1].toLowerCase() : null;
};

// Whether the element that has the focus wants this key for itself.
const belongsTo = (element, key) => {
  if (!(element instanceof Element)) return false;
  if (element.isContentEditable || element.matches("textarea, select, [role=textbox], [role=combobox]")) return true;
  if (element.matches("input") && !TYPED.has(element.type)) return true;
  const plain = key.replace("shift+", "");
  if (PRESSING.has(plain)) return element.matches("button, a, summary, input, [role=button], [role=link], [role=treeitem]");
  if (MOVING.has(plain)) {
    return element.closest("[role=slider], [role=separator], [role=tablist], [role=listbox], [role=menu], [role=grid], [role=radiogroup], [role=tree]:not(.items), " +
      "input[type=range], input[type=radio], input[type=number]") !== null;
  }
  return false;
};

// A dialog begins in its first field. Streamlit gives the focus to its close button, and draws the field later.
const focusField = (dialog) => {
  const field = dialog.querySelector("textarea, input:not([type=hidden]):not([type=checkbox])");
  if (field === null || dialog.dataset.focused) return;
  dialog.dataset.focused = "yes";
  field.focus();
  // Of other fields, such as radio buttons, no text can be selected.
  if (field.matches("textarea, input[type=text]")) field.setSelectionRange(field.value.length, field.value.length);
};

const listeners = new WeakMap();

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  let listener = listeners.get(parentElement);
  if (!listener) {
    const giveRoomBack = takeNoRoom(parentElement);
    listener = { outbox: new Outbox(), drafts: new Drafts(), keys: new Set(), stamp: "" };
    const press = (event) => {
      // Streamlit asks for a clean-up a moment after the page is gone.
      if (!hostOf(parentElement).isConnected || event.isComposing || event.keyCode === 229) return;
      const key = nameOf(event);
      if (key === null || !listener.keys.has(key)) return;
      if (openDialog() !== null) return;
      if (belongsTo(event.composedPath()[0], key)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      // A key held down moves on, but judges and undoes only once.
      if (event.repeat && !MOVING.has(key)) return;
      listener.outbox.send({ key, stamp: listener.stamp });
    };
    // On the window, so that it comes before every listener of Streamlit's on the document.
    window.addEventListener("keydown", press, { capture: true });
    const watch = new MutationObserver(() => { const dialog = openDialog(); if (dialog !== null) focusField(dialog); });
    watch.observe(document.body, { childList: true, subtree: true });
    listener.cleanUp = () => {
      watch.disconnect();
      listener.drafts.close();
      window.removeEventListener("keydown", press, { capture: true });
      listener.outbox.close();
      listeners.delete(parentElement);
      giveRoomBack();
    };
    listeners.set(parentElement, listener);
  }
  listener.keys = new Set(data.keys);
  listener.stamp = data.stamp;
  listener.outbox.connect(setStateValue, data.acknowledged);
  hostOf(parentElement).dataset.listens = data.stamp; // for whoever drives the page from outside
  return whenGone(parentElement, listener.cleanUp);
}
