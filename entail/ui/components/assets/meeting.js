// Where what draws a view (graph.js, outline.js) and what is to be drawn (graph_mount.js, outline_mount.js) find each
// other, whichever comes first. The first travels once a session, the second with each change of the tree.
const meetingPoint = (view) => {
  const slot = Symbol.for(`entail.${view}`);
  if (!globalThis[slot]) {
    let resolve;
    const promise = new Promise((settle) => (resolve = settle));
    globalThis[slot] = { promise, resolve };
  }
  return globalThis[slot];
};
