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

// Where the sign to fold and unfold sits: on the lower border.
const badgeOf = (node) => {
  const text = node.collapsed ? `+${node.below}` : "−";
  return { x: node.x, y: node.y + node.height / 2, text, high: 11, wide: Math.max(11, 6 + 4.5 * text.length) };
};

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
  ctx.font = `600 ${STYLE.font_size - 1}px ${theme.font}`;
  ctx.fillText(text, x, y + 0.5);
};

const paintText = (ctx, node, theme) => {
  const room = node.width - STYLE.padding * (STYLE.shapes[node.group] === "ellipse" ? 2 : 1);
  const top = node.y - ((node.lines.length - 1) * STYLE.line_height) / 2 + 0.5;
  ctx.fillStyle = theme.looks[node.group].text;
  ctx.font = `${node.group === "hypothesis" ? 600 : 400} ${STYLE.font_size}px ${theme.font}`;
  node.lines.forEach((line, i) => ctx.fillText(line, node.x, top + i * STYLE.line_height, room));
};

const paintNode = (ctx, node, theme, { scale, selected, hover, match, current }) => {
  const look = theme.looks[node.group];
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  if (match) ring(ctx, node, 5, theme.found, Math.max(current ? 5 : 2.5, (current ? 4 : 2) / scale));
  if (selected) ring(ctx, node, match ? 12 : 5, theme.accent, Math.max(3, 2.5 / scale));
  outline(ctx, node);
  ctx.fillStyle = look.fill;
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
  if (node.below && (node.collapsed || hover || selected)) paintBadge(ctx, node, theme, scale);
};
