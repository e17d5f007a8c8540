// How a node is drawn on the canvas. Looks and sizes come from Python (entail/trees/appearance.py, STYLE).
const READABLE = 0.22; // below this zoom text is no more than noise

const probe = document.createElement("canvas").getContext("2d");

const isDark = (colour) => {
  probe.fillStyle = "#ffffff";
  probe.fillStyle = colour;
  const hex = /^#(..)(..)(..)$/.exec(probe.fillStyle);
  const [red, green, blue] = hex
    ? hex.slice(1).map((part) => parseInt(part, 16))
    : probe.fillStyle.match(/[\d.]+/g).slice(0, 3).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
};

// Boxes have room for the widest usual font. The page's own is mostly narrower: it can be larger in narrower boxes.
const fitFont = (font) => {
  probe.font = `100px ${font}`;
  const share = probe.measureText(STYLE.sample.text).width / 100 / STYLE.sample.width; // for each pixel of size
  const size = Math.min(STYLE.line_height - 2, Math.max(STYLE.font_size, Math.floor(1 / share)));
  return { size, narrow: Math.min(1, Math.max(0.75, 1.05 * share * size)) };
};

const outline = (ctx, node, gap = 0) => {
  const [width, height] = [node.width + 2 * gap, node.height + 2 * gap];
  const shape = STYLE.shapes[node.group];
  ctx.beginPath();
  if (shape === "ellipse") return ctx.ellipse(node.x, node.y, width / 2, height / 2, 0, 0, 2 * Math.PI);
  const corner = (shape === "rounded" ? Math.min(STYLE.corner, node.height / 2) : 2) + gap;
  ctx.roundRect(node.x - width / 2, node.y - height / 2, width, height, corner);
};

const ring = (ctx, node, gap, colour, width) => {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  outline(ctx, node, gap);
  ctx.stroke();
};

// Where the sign to fold and unfold sits: low on the right of the border, clear of the arrow from below.
const badgeOf = (node) => {
  const text = node.collapsed ? `+${node.below}` : "−";
  const wide = Math.max(9, 5 + 4.5 * text.length);
  const [right, down] = STYLE.shapes[node.group] === "ellipse"
    ? [0.25 * node.width, 0.433 * node.height] // at 60 degrees
    : [node.width / 2 - wide - STYLE.corner / 2, node.height / 2];
  return { x: node.x + right, y: node.y + down, text, high: 9, wide };
};

const hasBadge = (node, scale) => node.below && (node.collapsed || scale >= 0.5);

const paintBadge = (ctx, node, theme, scale) => {
  const { x, y, text, high, wide } = badgeOf(node);
  ctx.beginPath();
  ctx.roundRect(x - wide, y - high, 2 * wide, 2 * high, high);
  ctx.fillStyle = theme.background;
  ctx.fill();
  ctx.lineWidth = Math.max(1.5, 1 / scale);
  ctx.strokeStyle = theme.looks[node.group].border;
  ctx.stroke();
  if (scale < READABLE) return;
  ctx.fillStyle = theme.text;
  ctx.font = `600 ${STYLE.font_size - 2}px ${theme.font}`;
  ctx.fillText(text, x, y + 0.5);
};

const paintText = (ctx, node, theme) => {
  const room = node.width - STYLE.padding * (STYLE.shapes[node.group] === "ellipse" ? 2 : 1);
  const top = node.y - ((node.lines.length - 1) * STYLE.line_height) / 2 + 0.5;
  ctx.fillStyle = theme.looks[node.group].text;
  ctx.font = `${node.group === "hypothesis" ? 600 : 400} ${theme.size}px ${theme.font}`;
  node.lines.forEach((line, i) => ctx.fillText(line, node.x, top + i * STYLE.line_height, room));
};

const paintNode = (ctx, node, theme, { scale, selected, hover, match, current }) => {
  const look = theme.looks[node.group];
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  if (match) ring(ctx, node, 5, theme.found, Math.max(current ? 5 : 2.5, (current ? 4 : 2) / scale));
  if (selected) ring(ctx, node, match ? 12 : 5, theme.accent, Math.max(3, 2.5 / scale));
  outline(ctx, node);
  ctx.fillStyle = scale < READABLE && node.group !== "rejected" ? look.border : look.fill;
  ctx.fill();
  if (STYLE.shapes[node.group] === "dashed") ctx.setLineDash(STYLE.dashes);
  ctx.lineWidth = hover ? STYLE.border_width + 1 : STYLE.border_width;
  ctx.strokeStyle = look.border;
  ctx.stroke();
  ctx.setLineDash([]);
  if (scale >= READABLE) paintText(ctx, node, theme);
  if (node.finished && scale >= READABLE) {
    ctx.fillStyle = look.border;
    ctx.font = `700 ${STYLE.font_size}px ${theme.font}`;
    ctx.fillText("✓", node.x + node.width / 2 - 9, node.y - node.height / 2 + 10);
  }
  if (hasBadge(node, scale)) paintBadge(ctx, node, theme, scale);
};

// Premises run together and support their conclusion with one arrow: a step. Rejected ones run beside them, dotted.
const paintStep = (ctx, parent, children, theme, scale, rejected) => {
  if (!children.length) return;
  const [end, lane] = [parent.y + parent.height / 2 + 2, rejected ? -9 : 0];
  const top = Math.min(...children.map((child) => child.y - child.height / 2));
  const turn = (parent.floor + top) / 2 + lane;
  ctx.beginPath();
  for (const child of children) {
    const side = Math.sign(child.x - parent.x);
    const bend = Math.min(10, Math.abs(child.x - parent.x), (top - parent.floor) / 4);
    ctx.moveTo(child.x, child.y - child.height / 2);
    ctx.lineTo(child.x, turn + (side ? bend : 0));
    if (side) {
      ctx.quadraticCurveTo(child.x, turn, child.x - side * bend, turn);
      ctx.lineTo(parent.x + side * bend, turn);
      ctx.quadraticCurveTo(parent.x, turn, parent.x, turn - bend);
    }
    ctx.lineTo(parent.x, end + (rejected ? 0 : 7));
  }
  ctx.strokeStyle = rejected ? theme.looks.rejected.border : theme.edge;
  ctx.lineWidth = Math.max(1.6, 1 / scale);
  if (rejected) ctx.setLineDash(STYLE.dots);
  ctx.stroke();
  ctx.setLineDash([]);
  if (rejected) return;
  ctx.beginPath();
  ctx.moveTo(parent.x, end);
  ctx.lineTo(parent.x - 5.5, end + 11);
  ctx.lineTo(parent.x + 5.5, end + 11);
  ctx.closePath();
  ctx.fillStyle = theme.edge;
  ctx.fill();
};

const paintSteps = (ctx, records, theme, scale) => {
  const [supported, refused] = [new Map(), new Map()];
  for (const node of records.values()) {
    if (node.supports === undefined) continue;
    const steps = node.group === "rejected" ? refused : supported;
    steps.set(node.supports, [...(steps.get(node.supports) ?? []), node]);
  }
  for (const [id, children] of refused) paintStep(ctx, records.get(id), children, theme, scale, true);
  for (const [id, children] of supported) paintStep(ctx, records.get(id), children, theme, scale, false);
};
