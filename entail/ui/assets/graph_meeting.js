// Where what draws (graph.js) and what is to be drawn (graph_mount.js) find each other, whichever comes first.
const meetingPoint = () => {
  const slot = Symbol.for("entail.graph");
  if (!globalThis[slot]) {
    let resolve;
    const promise = new Promise((settle) => (resolve = settle));
    globalThis[slot] = { promise, resolve };
  }
  return globalThis[slot];
};
