// The box that explains a key.

async function explain(event) {
  event.preventDefault();
  const parameters = [["key", $("key").value], ["method", $("method").value.trim()], ["path", $("path").value.trim()]].filter(([, value]) => value !== "");
  for (const [name, id] of [["header", "headers"], ["tag", "tags"]]) {
    for (const line of $(id).value.split("\n")) if (line.trim()) parameters.push([name, line.trim()]);
  }
  const target = $("explanation");
  try {
    const answer = await ask("explain", parameters);
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error);
    view.needle = needleOf(body.explanation);
    target.replaceChildren(...chain(body));
    const [owner] = body.explanation.candidates;
    view.pinned = owner === undefined ? null : owner;
  } catch (error) {
    view.needle = null;
    target.replaceChildren(el("p", { class: "answer" }, badge(["not explained", "bad"]), " ", error.message));
  }
  drawNeedle();
  showChosen();
}
// Where the key lies on the circle that is drawn: that of all instances, which other pools have too unless their ring is another one.
function needleOf(explanation) {
  const stage = explanation.stages[explanation.chosen];
  if (!explanation.key || !explanation.key.hash || !stage || !view.ring) return null;
  const same = stage.pool === "any" || (["ring", "nginx"].includes(view.ring.algorithm) && !/ring of its own|ring seed/.test(stage.pool));
  return same ? explanation.key.hash : null;
}
const DECIDES = { policy: "the policy decides", baseline_observed: "the baseline decides, the policy is only observed", baseline: "the baseline decides" };
const REFUSED = { no_instances: "no usable instance", key_required: "a key is required" };
const DRAWN = { p2c: "the less busy one of two drawn at random", least_request: "the least busy one", round_robin: "the one whose turn it is", random: "one drawn at random", reject: "none" };
function chain({ explanation: told, text, hint }) {
  const step = (what, content, goal) => el("li", { class: goal && "goal" }, el("span", { class: "what" }, what), content);
  const [first, ...further] = told.candidates;
  const would = told.is_suggested;
  const goal = told.refused ? REFUSED[told.refused] || told.refused : first !== undefined ? first : `a usable instance: ${DRAWN[told.missing_key] || told.missing_key}`;
  const verb = told.refused ? (would ? "Would be refused:" : "Refused:") : would ? "Would go to" : "Goes to";
  const answer = `${verb} ${goal}${would ? "; the baseline decides" : ""}`;
  const steps = [
    step("Rule", `${told.rule === "none" ? "no rule" : told.rule}: ${told.is_off ? "the policy is off" : told.policy === "" ? "decided without a policy" : DECIDES[told.decides] || told.decides}`),
    ...told.tags.map((tag) => step("Tag", `${tag.name}=${tag.value} (${String(tag.because).replaceAll("_", " ")})`)),
    told.tenant && step("Tenant", told.tenant[0]),
    told.gray && step("Gray release", `${told.gray[0]} (${String(told.gray[1]).replaceAll("_", " ")})`),
    step("Key", told.key ? el("code", {}, told.key.raw === told.key.normalised ? told.key.raw : `${told.key.raw} → ${told.key.normalised}`) : `none (${told.sources.map((source) => `${source.source}: ${source.outcome}`).join(", ")})`),
    told.key && told.key.hash && step("Hash", el("code", {}, told.key.hash)),
    ...told.stages.map((stage, place) => step(`Pool ${place + 1}`, `${stage.pool}: ${count(stage.usable)} usable of ${count(stage.members)}${place === told.chosen ? (would ? " — would serve" : " — serves") : ""}`, place === told.chosen)),
    told.walk.length > 0 && step("Clockwise from the key", el("ol", {}, told.walk.slice(0, 12).map((on) => el("li", {}, `${on.instance}: ${on.verdict}`)), told.walk.length > 12 && el("li", { class: "muted" }, `and ${count(told.walk.length - 12)} more`))),
    further.length > 0 && step(would ? "If that failed" : "If that fails", further.join(", then ")),
  ];
  return [
    el("p", { class: "answer", id: "answer" }, answer),
    hint && el("p", { class: "muted" }, `The key was not looked at: ${hint}.`),
    el("ol", { class: "chain" }, steps),
    el("details", {}, el("summary", {}, "As text"), el("pre", {}, text)),
  ].filter(Boolean);
}
