// What is shown at each renewal: the services, the figures, and all of the other parts.

function show() {
  const state = view.state;
  showLive();
  showServices(state);
  const [text, kind] = PHASES[state.health.phase] || [state.health.phase, "idle"];
  setText($("phase"), text);
  $("phase").dataset.kind = kind;
  setText($("note"), state.health.note ? `${state.health.service}: ${state.health.note}` : "");
  $("note").hidden = !state.health.note;
  showPolicyFault(state.snapshot && state.snapshot.policy);
  document.title = `${state.health.service} (${text}) - Ringfence`;
  const snapshot = state.snapshot;
  showTiles(snapshot);
  showInstances(snapshot ? snapshot.instances : []);
  const instances = snapshot ? snapshot.instances : [];
  redraw("ring", [view.ring && view.ring.fingerprint, instances.map((row) => [row.id, row.state])], () => drawRing(instances));
  showDetail();
  const served = servedOf(state.decisions || []);
  redraw("pools", [state.pools, snapshot && snapshot.counters, snapshot && snapshot.policy, served], () => drawPools(state.pools, snapshot, served));
  redraw("changes", state.changes, () => drawChanges(state.changes || []));
  redraw("hot", state.hot_keys, () => drawHotKeys(state.hot_keys));
  const inForce = snapshot && snapshot.policy.fingerprint;
  redraw("observe", [state.observe, inForce], () => drawObserve(state.observe, inForce));
  redraw("calls", state.decisions, () => drawCalls(state.decisions || []));
}
function showPolicyFault(policy) {
  const source = policy && policy.source;
  const stays = policy && policy.fingerprint ? "The policy before it stays in force." : "No policy is in force.";
  const what = source && (source.fault ? `The newest policy is not used: ${faultOf(source.fault)}` : source.read_error && `The policy cannot be read: ${source.read_error}`);
  setText($("policy-fault"), what ? `${what} (${placeOf(source)}). ${stays}` : "");
  $("policy-fault").hidden = !what;
}
function faultOf(fault) {
  if (fault.text) return fault.text;
  const place = [fault.path, fault.line && `line ${fault.line}`].filter(Boolean).join(", ");
  return `${place || "it is wrong"}; why is in the program's log, and in Status::policy_source`;
}
const placeOf = (source) => [source.name, source.document].filter(Boolean).join(" ");
function showServices(state) {
  const names = state.services.map((service) => service.service);
  const many = names.length > 1;
  $("service-label").hidden = !many;
  $("service-name").hidden = many;
  setText($("service-name"), many ? "" : state.health.service);
  redraw("services", state.services.map((service) => [service.service, service.phase]), () => {
    const options = state.services.map((service) => {
      const bad = service.phase === "serving" ? "" : ` (${(PHASES[service.phase] || [service.phase])[0]})`;
      return el("option", { value: service.service, selected: service.service === state.health.service }, service.service + bad);
    });
    $("service").replaceChildren(...options);
  });
  redraw("documents", view.service, () => {
    const ofService = ["state", "snapshot", "ring", "dump", "pools", "observe", "decisions", "changes", "hot-keys"];
    const ofAll = ["services", "metrics", "healthz"];
    $("documents").replaceChildren(
      ...ofService.map((path) => el("a", { href: address(path) }, path)), ...ofAll.map((path) => el("a", { href: base + path }, path)));
  });
}
function showTiles(snapshot) {
  const tiles = snapshot ? tilesOf(snapshot) : [];
  redraw("tiles", tiles, () => {
    $("tiles").replaceChildren(...tiles.map(([name, value, kind]) =>
      el("div", { "data-kind": kind }, el("dt", {}, name), el("dd", { class: kind === "wide" && "mono" }, value))));
  });
}
function tilesOf(snapshot) {
  const { counts, counters } = snapshot;
  const out = counts.instances - counts.usable;
  const tiles = [
    ["Usable instances", `${count(counts.usable)} of ${count(counts.instances)}`, counts.usable === 0 ? "bad" : out > 0 ? "warn" : null],
    ["Ejected", count(counts.ejected), counts.ejected > 0 ? "bad" : null],
    ["Picks per second", view.rate === null ? "…" : count(Math.round(view.rate))],
    ["Fallbacks", count(counters.fallbacks), counters.fallbacks > 0 ? "warn" : null],
    ["Pools in panic", `${count(counts.pools_in_panic)} of ${count(counts.pools)}`, counts.pools_in_panic > 0 ? "bad" : null],
    ["Moved by the last change", snapshot.moved_share === null ? "none" : percent(snapshot.moved_share)],
    ["View", `${count(snapshot.epoch)}`],
    ["Fingerprint of the ring", snapshot.fingerprint || "none", "wide"],
  ];
  if (snapshot.registry.stale_seconds !== null) tiles.splice(2, 0, ["List is stale for", `${count(snapshot.registry.stale_seconds)} s`, "warn"]);
  return tiles;
}
