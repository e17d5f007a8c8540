// One outline on the page; what it draws with travels once, as graph_mount.js says.
export default async (component) => (await meetingPoint("outline").promise)(component);
