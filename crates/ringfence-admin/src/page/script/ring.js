// The circle of keys, and which instance is looked at.

const OUTER = 150;
const INNER = 106;
const point = (radius, part) => {
  const angle = 2 * Math.PI * part;
  return `${(radius * Math.sin(angle)).toFixed(2)} ${(-radius * Math.cos(angle)).toFixed(2)}`;
};
function sector(from, to) {
  // A whole circle has no two ends.
  if (to - from > 0.999999) return sector(from, (from + to) / 2) + sector((from + to) / 2, to - 1e-6);
  const large = to - from > 0.5 ? 1 : 0;
  return `M${point(OUTER, from)}A${OUTER} ${OUTER} 0 ${large} 1 ${point(OUTER, to)}L${point(INNER, to)}A${INNER} ${INNER} 0 ${large} 0 ${point(INNER, from)}Z`;
}
// The parts of the circle of each member, neighbours joined.
function arcsOf(ring) {
  const arcs = ring.members.map(() => []);
  if (ring.slices.length === 0) {
    let from = 0;
    ring.members.forEach((member, place) => {
      if (member.share > 0) arcs[place].push([from, from + member.share]);
      from += member.share;
    });
    return arcs;
  }
  ring.slices.forEach((owners, slice) => {
    const whole = owners.reduce((sum, [, permille]) => sum + permille, 0) || 1;
    let from = slice / ring.slices.length;
    for (const [place, permille] of owners) {
      const to = from + permille / whole / ring.slices.length;
      const own = arcs[place];
      const last = own[own.length - 1];
      if (last && Math.abs(last[1] - from) < 1e-9) last[1] = to;
      else own.push([from, to]);
      from = to;
    }
  });
  return arcs;
}
function drawRing(instances) {
  const ring = view.ring;
  const states = new Map(instances.map((row) => [row.id, row]));
  const parts = [
    svg("defs", {}, svg("pattern", { id: "hatching", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svg("path", { d: "M0 0V6" }))),
    svg("circle", { class: "track", r: (OUTER + INNER) / 2 }),
  ];
  if (ring) {
    arcsOf(ring).forEach((arcs, place) => {
      if (arcs.length === 0) return;
      const id = ring.members[place].id;
      const row = states.get(id);
      const out = row && !takesRequests(row);
      const d = arcs.map(([from, to]) => sector(from, to)).join("");
      const on = { pointerenter: () => choose(id), pointerleave: () => choose(null), click: () => pin(id) };
      parts.push(svg("path", { class: out ? "arc out" : "arc", d, "data-id": id, vars: { "--hue": hue(id) }, on }));
      if (out) parts.push(svg("path", { class: "hatch", d, "data-id": id }));
    });
  }
  const usable = instances.filter(takesRequests).length;
  parts.push(svg("g", { id: "needle" }),
    svg("text", { class: "big", y: 4 }, instances.length ? `${usable}/${instances.length}` : "–"),
    svg("text", { class: "small", y: 24 }, instances.length ? "usable instances" : "no instances"));
  $("ring").replaceChildren(...parts);
  drawNeedle();
  showChosen();
  setText($("ring-summary"), summary(ring));
}
function summary(ring) {
  if (!ring) return "There is no ring yet.";
  const owners = ring.members.filter((member) => member.share > 0);
  if (owners.length === 0) return `Algorithm ${ring.algorithm}; nobody owns any keys.`;
  const shares = owners.map((member) => member.share);
  const spread = owners.length === 1 ? "which has all keys" : `shares from ${percent(Math.min(...shares))} to ${percent(Math.max(...shares))}`;
  const how = ring.slices.length ? `${count(ring.points)} points` : "neighbouring keys have nothing in common, so the circle shows shares alone";
  const basis = { sample: `, by a sample of ${ring.sample} keys`, points: ", by the number of points" }[ring.basis] || "";
  return `Algorithm ${ring.algorithm}, ${how}; ${plural(owners.length, "owner")}, ${spread}${basis}.`;
}
function drawNeedle() {
  const group = $("needle");
  if (!group) return;
  group.replaceChildren();
  if (!view.needle || !view.ring || view.ring.slices.length === 0) return;
  const space = BigInt(view.ring.positions);
  const place = Number(((BigInt("0x" + view.needle) % space) * 1000000n) / space) / 1000000;
  const [x, y] = point(OUTER + 8, place).split(" ");
  group.append(
    svg("path", { class: "needle", d: `M${point(INNER - 8, place)}L${point(OUTER + 8, place)}` }),
    svg("circle", { class: "head", cx: x, cy: y, r: 4.5 }));
}
// What the pointer or the focus is on comes first, then what was pressed.
const current = () => view.chosen || view.pinned;
function choose(id) {
  view.chosen = id;
  showChosen();
}
function pin(id) {
  view.pinned = view.pinned === id ? null : id;
  showChosen();
}
function showChosen() {
  const id = current();
  $("ring").classList.toggle("chosen", id !== null);
  for (const path of document.querySelectorAll("#ring path[data-id]")) path.classList.toggle("shown", path.dataset.id === id);
  for (const [key, parts] of rows) {
    parts.line.classList.toggle("shown", key === id);
    parts.button.setAttribute("aria-pressed", String(key === view.pinned));
  }
  showDetail();
}
function showDetail() {
  const id = current();
  const row = id !== null && view.state && view.state.snapshot && view.state.snapshot.instances.find((row) => row.id === id);
  if (!row) return setText($("ring-detail"), "Point at an arc or go through the list of instances to see whose it is.");
  const owned = row.ring_share === null ? "" : `, owns ${percent(row.ring_share)} of the keys`;
  setText($("ring-detail"), `${row.id}: ${stateOf(row)[0]} (${row.why})${owned}, ${plural(row.in_flight, "request")} in flight`);
}
