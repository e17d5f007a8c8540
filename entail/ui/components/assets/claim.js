// Keeps a half-typed claim (drafts.js) until a tree of it is on the page.
const drafts = new WeakMap();

export default ({ data, parentElement }) => {
  for (const [name, text] of Object.entries(sessionStorage)) {
    if (name.startsWith("claim\n") && text.trim() === data.started) sessionStorage.removeItem(name);
  }
  if (!drafts.has(parentElement)) {
    takeNoRoom(parentElement);
    if (data.started === null) drafts.set(parentElement, new Drafts());
  }
  return whenGone(parentElement, () => {
    drafts.get(parentElement)?.close();
    drafts.delete(parentElement);
  });
};
