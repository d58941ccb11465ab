// Pools, changes, keys and calls.

function usesOf(route, policy) {
  if (route.plan === "routing") return policy.fingerprint && policy.on ? "Without the policy" : "All requests";
  const uses = route.uses.map((use) => [`Rule ${use.rule}`, use.release !== null && `release ${use.release}`, use.isolated && "a tenant kept apart"].filter(Boolean).join(", "));
  return uses.length > 0 ? uses.join("; ") : route.plan;
}
// How many of the calls that were looked at each pool had, by rule and number of its stage; those that came to none left out.
function servedOf(calls) {
  const served = new Map();
  for (const call of calls) {
    const [, rule, stage] = /^(.*)\/(\d+)$/.exec(call.pool) || [];
    if (rule === undefined) continue;
    const name = `${rule}, ${stage === "0" ? "first pool" : `fallback ${stage}`}`;
    served.set(name, (served.get(name) || 0) + 1);
  }
  return [...served].sort(([a], [b]) => a.localeCompare(b, "en"));
}
function modeOf({ on, mode }) {
  if (!on) return ", switched off";
  if (mode === "off" || mode === "observe") return mode === "off" ? ", off" : ", observes";
  return mode && mode.enforce_percent !== undefined ? `, enforced for ${mode.enforce_percent} %` : "";
}
function drawPools(pools, snapshot, served) {
  const target = $("pools");
  if (!pools) return target.replaceChildren(el("p", { class: "empty" }, "No pools yet."));
  const { counters, policy } = snapshot;
  const facts = [
    policy.fingerprint ? `policy ${policy.fingerprint}, ${plural(policy.rules, "rule")}${modeOf(policy)}` : "no policy",
    policy.source && `from ${placeOf(policy.source)}${policy.source.rejected > 0 ? `, ${plural(policy.source.rejected, "document was", "documents were")} refused` : ""}`,
    plural(counters.fallbacks, "fallback"), `${count(counters.spilled)} spilled`, `${count(counters.overflows)} past a full owner`,
    `${count(counters.in_panic)} in panic`, `${count(counters.no_instances)} without an instance`,
  ];
  const stages = (route) => route.stages.flatMap((stage, place) => {
    const serves = place === route.serves;
    const limits = [stage.min_usable > 1 && `needs ${count(stage.min_usable)}`, stage.min_share > 0 && `needs ${stage.min_share} %`, stage.spilled > 0 && `passes on ${percent(stage.spilled / 1000)}`].filter(Boolean);
    const box = el("span", { class: serves ? "stage serves" : "stage" }, stage.condition, el("span", { class: "muted" },
      stage.strict ? "ends here if any is registered" : [stage.members === null ? "not needed" : `${count(stage.usable)} usable of ${count(stage.members)}`, ...limits, serves && (place > 0 ? "serves as a fallback" : "serves")].filter(Boolean).join(", ")));
    return place > 0 ? [el("span", { class: "muted" }, "else"), box] : [box];
  });
  const routes = pools.routes.map((route) => el("div", { class: "route" },
    el("p", {}, usesOf(route, policy), route.tags.length > 0 && ` for ${route.tags.join(", ")}`, route.serves === null && [" ", badge(["nobody serves", "bad"])]),
    el("div", { class: "stages" }, stages(route))));
  const prepared = pools.pools.map((pool) => el("li", {}, pool.condition, ": ", `${count(pool.usable)} usable of ${count(pool.members)} `, pool.panic && badge(["in panic", "bad"]),
    el("span", { class: "muted" }, pool.ring ? ` ${pool.ring.algorithm}, ${count(pool.ring.points)} points` : " on the ring of all")));
  target.replaceChildren(
    el("p", { class: "muted facts" }, facts.filter(Boolean).map((fact) => el("span", {}, fact))),
    ...(served.length ? [el("p", { class: "muted facts" }, "Of the last calls looked at: ", served.map(([name, calls]) => el("span", {}, `${name}: ${count(calls)}`)))] : []),
    el("h3", {}, "Who is tried in which order"), ...routes,
    el("h3", {}, `Prepared pools (${count(pools.pools.length)})`), el("ol", {}, prepared),
    ...(pools.truncated ? [el("p", { class: "muted" }, "There are more than are shown.")] : []));
}
const names = (ids, all) => ids.slice(0, 4).join(", ") + (all > Math.min(ids.length, 4) ? ` and ${count(all - Math.min(ids.length, 4))} more` : "");
function drawChanges(changes) {
  const lines = [...changes].reverse().map((change) => el("li", {},
    el("time", { class: "muted", datetime: new Date(change.at_unix_ms).toISOString(), title: `view ${change.epoch}` }, time(change.at_unix_ms)),
    el("div", { class: "what" },
      change.added_count > 0 && el("span", { class: "plus" }, `+${count(change.added_count)} `, el("span", { class: "who-came" }, names(change.added, change.added_count)), " "),
      change.removed_count > 0 && el("span", { class: "minus" }, `−${count(change.removed_count)} `, names(change.removed, change.removed_count), " "),
      change.changed_count > 0 && el("span", {}, `${count(change.changed_count)} changed `),
      el("span", { class: "muted" }, `${plural(change.instances, "instance")}, built in ${duration(change.build_ms)}${change.delay_ms === null ? "" : `, in force after ${duration(change.delay_ms)}`}`)),
    change.moved_share === null ? el("span", { class: "muted" }, "nothing moved") : el("div", {},
      el("span", { class: "number" }, `${percent(change.moved_share)} moved`),
      el("div", { class: "bar", "aria-hidden": "true" }, el("i", { vars: { width: `${100 * change.moved_share}%` } })))));
  $("changes").replaceChildren(...(lines.length ? lines : [el("li", { class: "empty" }, "Nothing has changed yet.")]));
}
function drawHotKeys(keys) {
  const target = $("hot");
  if (!keys || !keys.on) return target.replaceChildren(el("p", { class: "empty" }, "Keys are not counted: BalancerConfig::without_hot_keys is set."));
  if (keys.hottest.length === 0) return target.replaceChildren(el("p", { class: "empty" }, "No keys were seen yet."));
  const lines = keys.hottest.slice(0, 10).map((key) => el("li", {},
    el("span", { class: "number muted" }, percent(key.share)),
    el("span", { class: "what" }, el("code", {}, key.key_hash), ` on ${key.instance} `, key.hot && badge(["hot", "warn"])),
    el("div", { class: "bar", "aria-hidden": "true" }, el("i", { vars: { width: `${Math.min(100, (100 * key.share) / keys.hottest[0].share)}%` } }))));
  target.replaceChildren(el("p", { class: "muted" }, keys.hot > 0 ? `${plural(keys.hot, "key counts", "keys count")} as hot.` : "No key counts as hot."), el("ol", { class: "keys" }, lines));
}
function drawObserve(observed, inForce) {
  $("observe-card").hidden = !observed;
  if (!observed) return $("observe").replaceChildren();
  const warm = (share) => (share === null ? "none" : percent(share));
  const facts = [
    `policy ${observed.policy}${observed.policy === inForce ? "" : ", which is not in force any more"}`,
    `${plural(observed.requests, "request")}, ${count(observed.keyless)} without a key`,
    `both choose the same for ${observed.compared > 0 ? percent(observed.agreed / observed.compared) : "none"} of ${count(observed.compared)}`,
    observed.unknown > 0 && `for ${count(observed.unknown)} it is not known who got them`,
    `keys that are ready: ${warm(observed.warm_share)} now, ${warm(observed.warm_share_with_policy)} with the policy`,
    `moved by changes of instances: ${count(observed.moved)} of ${count(observed.returned)} that came back`,
  ];
  const most = Math.max(1, ...observed.instances.map((row) => Math.max(row.actual, row.suggested)));
  const shown = observed.instances.slice(0, 12);
  const lines = shown.map((row) => el("li", {},
    el("span", { class: "what" }, row.id), el("span", { class: "muted number" }, `${count(row.actual)} now, ${count(row.suggested)} with the policy`),
    el("div", { class: "bar", "aria-hidden": "true" }, el("i", { vars: { width: `${(100 * row.actual) / most}%` } }), el("b", { vars: { left: `calc(${((100 * row.suggested) / most).toFixed(2)}% - 3px)` } }))));
  const more = observed.instances.length - shown.length;
  $("observe").replaceChildren(
    el("p", { class: "muted facts" }, facts.filter(Boolean).map((fact) => el("span", {}, fact))), el("ol", { class: "keys observed" }, lines),
    ...(more > 0 || observed.truncated ? [el("p", { class: "muted" }, "There are more instances than are shown.")] : []));
}
function drawCalls(calls) {
  const lines = [...calls].reverse().slice(0, 32).map((call) => el("li", {},
    el("time", { class: "muted", datetime: new Date(call.at_unix_ms).toISOString() }, time(call.at_unix_ms)),
    badge([call.outcome.replaceAll("_", " "), call.outcome === "success" ? "good" : call.outcome === "cancelled" ? "idle" : "bad"]),
    el("span", { class: "to" }, call.instance === null ? "no instance" : call.instance),
    el("span", { class: "muted" }, [call.pool, `${plural(call.attempts, "attempt")}`, duration(call.took_ms)].join(", ")),
    call.key_hash !== null && el("code", { class: "muted", title: call.key_source }, call.key_hash)));
  $("calls").replaceChildren(...(lines.length ? lines : [el("li", { class: "empty" }, "No calls were looked at yet; this shows a sample of those through the layer.")]));
}
