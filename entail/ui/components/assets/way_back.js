export default function ({ data }) {
  // The provider returns everybody to the first page. Go back to the page from which the user signed in.
  const storageKey = "entail.way";
  try {
    if (!data.signed_in) {
      if (!window.entailWay) window.addEventListener("pagehide", () => {
        sessionStorage.setItem(storageKey, location.pathname + location.search);
      });
      window.entailWay = true;
      return;
    }
    const way = sessionStorage.getItem(storageKey);
    sessionStorage.removeItem(storageKey);
    if (!location.pathname.endsWith("/")) return; // the user has navigated meanwhile
    if (way && /^\/(?!\/)/.test(way) && way !== location.pathname + location.search) location.replace(way);
  } catch (error) { /* a browser without storage stays on the first page */ }
}
