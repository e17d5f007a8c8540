// Messages to Python: numbered, and sent again until acknowledged, because a trigger that is set while Python
// is busy takes the place of the one before it.
class Outbox {
  static AGAIN = 4000; // milliseconds, doubled with each try: a run that is slow must not be broken off for ever
  static TRIES = 5;

  constructor() {
    this.mount = Date.now().toString(36) + Math.random().toString(36).slice(2);
    this.number = 0;
    this.open = [];
    this.tries = 0;
    this.setTriggerValue = () => {};
  }

  connect(setTriggerValue, acknowledged) {
    this.setTriggerValue = setTriggerValue;
    if (acknowledged?.mount === this.mount) {
      this.open = this.open.filter((message) => message.number > acknowledged.seen);
    }
    if (!this.open.length) this.close();
  }

  send(...messages) {
    for (const message of messages) {
      this.number += 1;
      this.open.push({ ...message, number: this.number });
    }
    this.tries = 0;
    this.post();
  }

  // A trigger that was lost is never answered, and nobody may press another key for an hour.
  post() {
    this.setTriggerValue("sent", { mount: this.mount, messages: this.open });
    this.close();
    if (this.tries < Outbox.TRIES) this.timer = setTimeout(() => this.post(), Outbox.AGAIN * 2 ** this.tries);
    this.tries += 1;
  }

  close() {
    clearTimeout(this.timer);
  }
}

// What is drawn into, whether styles are isolated (a shadow root) or not.
const hostOf = (parentElement) => parentElement.host ?? parentElement;

// Streamlit asks for a clean-up also when new data overtakes old; only one who has left the page is gone for good.
const whenGone = (parentElement, cleanUp) => () =>
  setTimeout(() => {
    if (!hostOf(parentElement).isConnected) cleanUp();
  }, 0);

// A component without a face takes no room, not even the gap between elements.
const takeNoRoom = (parentElement) => {
  const container = hostOf(parentElement).closest?.('[data-testid="stElementContainer"]');
  if (container) Object.assign(container.style, { position: "absolute", height: "0", overflow: "hidden" });
  return () => {
    if (container) Object.assign(container.style, { position: "", height: "", overflow: "" });
  };
};
