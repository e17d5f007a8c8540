// Messages to Python: numbered, and sent again until acknowledged. As state and not as a trigger, because Streamlit
// gives the old trigger in place of every later one after a run that was interrupted at the wrong moment.
class Outbox {
  static LOOK = 1000; // milliseconds between two looks whether a message was lost
  static TRIES = 5;

  constructor() {
    this.mount = Date.now().toString(36) + Math.random().toString(36).slice(2);
    this.number = 0;
    this.open = [];
    this.tries = 0;
    this.setStateValue = () => {};
  }

  connect(setStateValue, acknowledged) {
    this.setStateValue = setStateValue;
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

  // Equal state starts no run, so that the count of the tries goes with it.
  post() {
    this.setStateValue("sent", { mount: this.mount, messages: this.open, tries: this.tries });
    this.close();
    this.looks = 0;
    this.timer = setInterval(() => this.look(), Outbox.LOOK);
  }

  // Messages that were lost are never answered, and no one may press another key for an hour. They were lost when
  // no script runs and they are not acknowledged, seen a few times: one that runs is not to be broken off.
  look() {
    if (!isRunning()) this.looks += 1;
    if (this.looks < 3) return;
    this.tries += 1;
    if (this.tries <= Outbox.TRIES) this.post();
    else this.close();
  }

  close() {
    clearInterval(this.timer);
  }
}

const isRunning = () => document.querySelector('[data-test-script-state]:not([data-test-script-state="notRunning"])') !== null;

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
