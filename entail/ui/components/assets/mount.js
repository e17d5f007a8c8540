// What is drawn here, small because it travels with each change of the tree; what draws it travels once.
export default async (component) => (await meetingPoint(VIEW).promise)(component);
