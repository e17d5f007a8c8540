// A live region: a screen reader says its text when it changes, not when the page is opened.
export default function ({ data, parentElement }) {
  let region = parentElement.querySelector("[role=status]");
  if (!region) {
    region = document.createElement("div");
    region.setAttribute("role", "status");
    region.style = "position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)";
    parentElement.append(region);
  }
  if (region.textContent !== data.text) region.textContent = data.text;
}
