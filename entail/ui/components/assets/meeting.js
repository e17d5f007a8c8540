// Where what draws a view (graph.js, outline.js) and what is drawn (mount.js) find each other, whichever comes first.
const meetingPoint = (view) => {
  const slot = Symbol.for(`entail.${view}`);
  if (!globalThis[slot]) {
    let resolve;
    const promise = new Promise((settle) => (resolve = settle));
    globalThis[slot] = { promise, resolve };
  }
  return globalThis[slot];
};
