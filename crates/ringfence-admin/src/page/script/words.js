// Words, numbers and colours.

const count = (number) => number.toLocaleString("en");
const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many || one + "s"}`;
function percent(share) {
  if (share === null || share === undefined) return "unknown";
  const value = share * 100;
  return `${value === 0 || value >= 10 ? value.toFixed(value >= 99.95 || value === 0 ? 0 : 1) : value.toFixed(2)}\u00a0%`;
}
function time(unixMs) {
  return new Date(unixMs).toLocaleTimeString("en-GB");
}
function duration(ms) {
  if (ms < 1) return `${(ms * 1000).toFixed(0)} µs`;
  return ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
const STATES = {
  usable: ["usable", "good"], on_trial: ["on trial", "warn"], ejected: ["ejected", "bad"], unhealthy: ["unhealthy", "bad"],
  fails_checks: ["fails checks", "bad"], unchecked: ["not checked yet", "warn"], damped: ["damped", "warn"],
  warming: ["warming up", "warn"], absent: ["kept out", "bad"], drained: ["drained", "idle"], disabled: ["disabled", "idle"],
};
const PHASES = {
  serving: ["serving", "good"], starting: ["starting", "warn"], no_such_service: ["no such service", "bad"],
  task_gone: ["task gone", "bad"], dropped: ["gone", "bad"],
};
const stateOf = (row) => STATES[row.state] || [row.state, "idle"];
const takesRequests = (row) => row.state === "usable" || row.state === "on_trial";
const badge = ([text, kind]) => el("span", { class: "badge", "data-kind": kind }, text);

// An instance keeps its colour while others come and go.
const PALETTE = [255, 30, 150, 320, 90, 200, 55, 285, 120, 0, 225, 175];
const MOST_HUES = 5000;
const hues = new Map();
function hue(id) {
  if (!hues.has(id)) {
    // A page may be open for weeks, with new ids each day.
    if (hues.size >= MOST_HUES) hues.clear();
    const place = hues.size;
    hues.set(id, place < PALETTE.length ? PALETTE[place] : (place * 137.508) % 360);
  }
  return hues.get(id).toFixed(0);
}
