// What both views of a tree are made of: elements, never markup that holds anybody's words.
const element = (name, attributes = {}, children = []) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const treeItem = ({ id, level, open, ...attributes }, children) =>
  element("li", { id, role: "treeitem", "data-node": id, "aria-level": level, "aria-expanded": open, ...attributes }, children);

// Puts the page of a view (HTML, from Python) in place and returns its root.
const furnish = (parentElement, name) => {
  const page = new DOMParser().parseFromString(HTML, "text/html");
  parentElement.append(...page.head.children, ...page.body.children);
  return parentElement.querySelector(name);
};

// Calls `find(by)` with 0 for new words, 1 or -1 for Enter; the keys of the field are not the page's.
const findField = (root, find) => {
  const field = root.querySelector("input");
  field.addEventListener("input", () => find(0));
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") find((field.value = "") || 0);
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
  });
  return field;
};
