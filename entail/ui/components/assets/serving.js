// The mounts of a page draw through here, each with a view of its own, made when it is drawn first.
const serve = (View) => {
  const views = new WeakMap();
  return ({ data, parentElement, setStateValue }) => {
    if (!views.has(parentElement)) views.set(parentElement, new View(parentElement, data.key));
    const view = views.get(parentElement);
    view.update(data, setStateValue);
    return whenGone(parentElement, () => {
      view.outbox.close();
      view.network?.destroy();
      parentElement.replaceChildren();
      views.delete(parentElement);
    });
  };
};

export default function ({ parentElement }) {
  meetingPoint(VIEW).resolve(serve(TreeView));
  return whenGone(parentElement, takeNoRoom(parentElement));
}
