// The mounts of a page draw through here: one View for each, made when it is drawn first.
const serve = (View) => {
  const mounts = new WeakMap();
  return ({ data, parentElement, setStateValue }) => {
    if (!mounts.has(parentElement)) mounts.set(parentElement, new View(parentElement, data.key));
    const view = mounts.get(parentElement);
    view.update(data, setStateValue);
    return whenGone(parentElement, () => {
      view.outbox.close();
      view.network?.destroy();
      view.root.remove();
      mounts.delete(parentElement);
    });
  };
};

export default function ({ parentElement }) {
  meetingPoint(VIEW).resolve(serve(TreeView));
  return whenGone(parentElement, takeNoRoom(parentElement));
}
