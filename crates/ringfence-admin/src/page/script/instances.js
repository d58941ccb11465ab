// The list of instances.

const load = (row) => (row.load_share === null ? -1 : row.load_share);
const COLUMNS = [
  { by: "id", name: "Instance", key: (row) => row.id },
  { by: "state", name: "State", key: (row) => stateOf(row)[0] },
  { by: "load", name: "Load", key: load },
  { by: "ring", name: "Ring", key: (row) => row.ring_share || 0, number: true },
  { by: "weight", name: "Weight", key: (row) => row.weight, number: true },
  { by: "flight", name: "In flight", key: (row) => row.in_flight, number: true },
  { by: "requests", name: "Requests", key: (row) => row.requests, number: true },
  { by: "failures", name: "Failed", key: (row) => row.failures, number: true },
];
const rows = new Map();
function drawHeads() {
  const heads = COLUMNS.map((column) => {
    const sort = view.sort.by === column.by ? (view.sort.down ? "descending" : "ascending") : null;
    const press = () => {
      const same = view.sort.by === column.by;
      view.sort = { by: column.by, down: same ? !view.sort.down : Boolean(column.number) || column.by === "load" };
      drawHeads();
      if (view.state) show();
      $(`sort-${column.by}`).focus();
    };
    return el("th", { role: "columnheader", scope: "col", class: column.number && "number", "aria-sort": sort },
      el("button", { type: "button", id: `sort-${column.by}`, on: { click: press } }, column.name));
  });
  $("instance-heads").replaceChildren(...heads);
}
function compare(a, b) {
  const key = COLUMNS.find((column) => column.by === view.sort.by).key;
  const [left, right] = [key(a), key(b)];
  const order = typeof left === "number" ? left - right : left.localeCompare(right, "en", { numeric: true });
  return (view.sort.down ? -order : order) || a.id.localeCompare(b.id, "en", { numeric: true });
}
function showInstances(all) {
  const wanted = view.filter.toLowerCase();
  const shown = all.filter((row) => !wanted || [row.id, row.address, stateOf(row)[0], row.version, row.zone].some((text) => text && text.toLowerCase().includes(wanted)));
  const scale = Math.max(1e-9, ...all.map((row) => Math.max(row.load_share || 0, row.weight_share)));
  const there = new Set(shown.map((row) => row.id));
  for (const [id, row] of rows) {
    if (!there.has(id)) {
      row.line.remove();
      rows.delete(id);
    }
  }
  const body = $("instance-rows");
  shown.sort(compare).forEach((row, place) => {
    if (!rows.has(row.id)) rows.set(row.id, makeRow(row.id));
    const parts = rows.get(row.id);
    showRow(parts, row, scale);
    // Only what is out of place is moved: moving it takes the focus away.
    if (body.children[place] !== parts.line) body.insertBefore(parts.line, body.children[place] || null);
  });
  const first = body.querySelector(".who button");
  if (first && !body.querySelector('.who button[tabindex="0"]')) first.tabIndex = 0;
  const empty = $("no-instances");
  empty.hidden = shown.length > 0;
  const phase = view.state && view.state.health.phase;
  setText(empty, all.length > 0 ? "No instance matches the filter." : phase === "starting" ? "No list of instances yet: the registry has not answered." : "The service has no instances.");
  setText($("instances-title"), all.length > 0 ? `Instances (${count(all.length)}${view.state.snapshot.truncated ? ", more are not shown" : ""})` : "Instances");
}
function makeRow(id) {
  const parts = {};
  const cell = (name, attributes, ...children) => (parts[name] = el("td", { role: "cell", ...attributes }, ...children));
  const events = {
    pointerenter: () => choose(id), pointerleave: () => choose(null),
  };
  parts.button = el("button", {
    type: "button", tabindex: "-1", "aria-pressed": "false",
    on: { click: () => pin(id), focus: () => { rove(parts.button); choose(id); }, blur: () => choose(null), keydown: walkRows },
  }, id);
  parts.swatch = el("span", { class: "swatch", "aria-hidden": "true", vars: { "--hue": hue(id) } });
  parts.place = el("span", { class: "muted" });
  parts.term = el("span", { class: "muted term" });
  parts.fill = el("i");
  parts.ideal = el("b");
  parts.bar = el("div", { class: "bar", role: "img" }, parts.fill, parts.ideal);
  parts.line = el("tr", { role: "row", on: events },
    cell("who", { class: "wide" }, el("div", { class: "who" }, parts.swatch, el("div", {}, parts.button, parts.place))),
    cell("state", {}), cell("load", { class: "wide" }, parts.bar),
    cell("ring", { class: "number", "data-label": "Ring" }), cell("weight", { class: "number", "data-label": "Weight" }),
    cell("flight", { class: "number", "data-label": "In flight" }), cell("requests", { class: "number", "data-label": "Requests" }),
    cell("failures", { class: "number", "data-label": "Failed" }));
  return parts;
}
// Why outlier detection keeps it out, and for how long.
function termOf(row) {
  if (!row.ejection) return "";
  const { cause, seconds_left: left, times } = row.ejection;
  return `${cause.replaceAll("_", " ")}${times > 1 ? `, ${count(times)} times in a row` : ""}; ${left > 0 ? `back in ${count(left)} s at the latest` : "about to come back"}`;
}
function showRow(parts, row, scale) {
  const out = !takesRequests(row);
  parts.line.dataset.id = row.id;
  parts.swatch.classList.toggle("out", out);
  const tags = row.tags ? Object.entries(row.tags).map(([name, value]) => `${name}=${value}`) : [];
  const about = [row.address, row.version, row.zone, row.region, ...tags].filter(Boolean);
  const known = about.join("\n");
  if (parts.known !== known) {
    parts.known = known;
    parts.place.replaceChildren(...about.map((text) => el("span", {}, text)));
  }
  if (parts.state.dataset.state !== row.state) {
    parts.state.dataset.state = row.state;
    parts.state.title = row.why;
    parts.state.replaceChildren(badge(stateOf(row)), parts.term);
  }
  setText(parts.term, termOf(row));
  const share = row.load_share || 0;
  parts.fill.style.width = `${(100 * share) / scale}%`;
  parts.fill.classList.toggle("over", row.load_share !== null && share > 1.25 * row.weight_share);
  parts.ideal.style.left = `calc(${((100 * row.weight_share) / scale).toFixed(2)}% - 3px)`;
  parts.bar.setAttribute("aria-label", `${row.load_share === null ? "no recent requests" : percent(share) + " of the recent requests"}, the weight asks for ${percent(row.weight_share)}`);
  setText(parts.ring, row.ring_share === null ? "–" : percent(row.ring_share));
  setText(parts.weight, count(row.weight));
  setText(parts.flight, count(row.in_flight));
  setText(parts.requests, count(row.requests));
  setText(parts.failures, count(row.failures));
}
// One stop of the Tab key for the whole list, in which the arrows go.
function rove(button) {
  for (const other of document.querySelectorAll("#instance-rows .who button")) other.tabIndex = other === button ? 0 : -1;
}
function walkRows(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  if (!(event.key in steps)) return;
  const buttons = [...document.querySelectorAll("#instance-rows .who button")];
  const next = Math.min(buttons.length - 1, Math.max(0, buttons.indexOf(event.currentTarget) + steps[event.key]));
  buttons[next].focus();
  event.preventDefault();
}
