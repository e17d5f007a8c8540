// Remembers the name of the author in this browser.
export default function (component) {
  const { data, setStateValue } = component;
  const storageKey = "entail.author";
  // Streamlit keeps the field, and the focus in it, until the run that goes without it ends: keys meant for
  // the page would be typed into it meanwhile.
  const field = document.activeElement;
  if (data.name && field?.closest(`[class*="st-key-${data.field}"]`)) field.blur();
  try {
    if (data.name) localStorage.setItem(storageKey, data.name);
    else if (data.forget) localStorage.removeItem(storageKey);
    else if (localStorage.getItem(storageKey)) setStateValue("name", localStorage.getItem(storageKey));
  } catch (error) { /* a browser without storage asks again next time */ }
}
