// Saves an SVG picture as PNG, at twice its size and in the browser's fonts.
let saved;

export default ({ data: { id, svg, name }, parentElement }) => {
  takeNoRoom(parentElement);
  if (id === saved) return;
  saved = id;
  const picture = new Image();
  picture.onload = () => {
    const scale = Math.min(2, 16000 / Math.max(picture.width, picture.height)); // browsers draw no more pixels
    const canvas = Object.assign(document.createElement("canvas"), { width: scale * picture.width, height: scale * picture.height });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((file) => Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: name }).click());
  };
  picture.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
};
