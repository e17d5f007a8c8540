// One graph on the page. It is small, because it travels anew with each change of the tree; what it draws with is in
// graph.js, which travels once.
export default async (component) => (await meetingPoint("graph").promise)(component);
