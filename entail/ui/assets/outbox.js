// Messages to Python: numbered, and sent again until acknowledged, because a trigger that is set while Python
// is busy takes the place of the one before it.
class Outbox {
  constructor() {
    this.mount = Date.now().toString(36) + Math.random().toString(36).slice(2);
    this.number = 0;
    this.open = [];
    this.setTriggerValue = () => {};
  }

  connect(setTriggerValue, acknowledged) {
    this.setTriggerValue = setTriggerValue;
    if (acknowledged?.mount === this.mount) {
      this.open = this.open.filter((message) => message.number > acknowledged.seen);
    }
  }

  send(...messages) {
    for (const message of messages) {
      this.number += 1;
      this.open.push({ ...message, number: this.number });
    }
    this.setTriggerValue("sent", { mount: this.mount, messages: this.open });
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
