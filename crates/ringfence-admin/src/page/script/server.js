// What is known, and the server that it is asked of.

const POLL_MS = 1000;
const HIDDEN_POLL_MS = 5000;
const TIMEOUT_MS = 5000;
// Where the page is mounted, whether or not its address ends with a slash.
const base = location.pathname.endsWith("/") ? location.pathname : location.pathname + "/";

const view = {
  service: new URLSearchParams(location.search).get("service"),
  state: null, ring: null, etag: null, updated: 0, paused: false, lost: false,
  chosen: null, pinned: null, sort: { by: "id", down: false }, filter: "", needle: null, rate: null, before: null, drawn: {},
};
// Draws a part only if what it shows has changed, so that focus and scrolling stay.
function redraw(part, shown, draw) {
  const now = JSON.stringify(shown);
  if (view.drawn[part] === now) return;
  view.drawn[part] = now;
  draw();
}

function address(path, parameters) {
  const query = new URLSearchParams(parameters);
  if (view.service !== null) query.append("service", view.service);
  const text = query.toString();
  return base + path + (text ? "?" + text : "");
}
async function ask(path, parameters, headers) {
  const answer = await fetch(address(path, parameters), {
    cache: "no-store", headers: headers || {}, signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return answer;
}
let waiting = null;
async function poll() {
  clearTimeout(waiting);
  const service = view.service;
  try {
    const answer = await ask("state", {}, view.etag ? { "If-None-Match": view.etag } : {});
    if (answer.status === 404 && service !== null) return await absent(service);
    if (answer.status !== 304) {
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.error || `status ${answer.status}`);
      if (service !== view.service) return;
      view.etag = answer.headers.get("ETag");
      measure(body);
      view.state = body;
    } else {
      measure(view.state);
    }
    view.updated = Date.now();
    const fingerprint = view.state.snapshot && view.state.snapshot.fingerprint;
    if (!fingerprint) view.ring = null;
    else if (!view.ring || view.ring.fingerprint !== fingerprint) {
      const ring = await ask("ring");
      if (service !== view.service) return;
      view.ring = ring.ok ? await ring.json() : null;
    }
    lost(null);
    show();
  } catch (error) {
    if (service === view.service) lost(error);
  } finally {
    if (service === view.service && !view.paused) {
      clearTimeout(waiting);
      waiting = setTimeout(poll, document.hidden ? HIDDEN_POLL_MS : POLL_MS);
    }
  }
}
function restart() {
  Object.assign(view, { state: null, ring: null, etag: null, before: null, rate: null, chosen: null, pinned: null, needle: null, drawn: {} });
  $("explanation").replaceChildren();
  poll();
}
// Requests in a second, from one answer to the next.
function measure(state) {
  if (!state || !state.snapshot) return;
  const now = performance.now();
  const picks = state.snapshot.counters.picks;
  if (view.before && now > view.before.at) view.rate = Math.max(0, ((picks - view.before.picks) * 1000) / (now - view.before.at));
  view.before = { at: now, picks };
}
// The program has other services than the one in the address, if any.
async function absent(service) {
  const answer = await fetch(base + "services", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
  const { services } = await answer.json();
  if (service !== view.service) return;
  const names = [...new Set(services.map((other) => other.service))];
  const links = names.flatMap((name, place) => [place > 0 && ", ", el("a", { href: base + "?" + new URLSearchParams({ service: name }) }, name)]);
  redraw("lost", [service, names], () => {
    const others = names.length > 0 ? ["; there is: ", ...links] : [", nor any other"];
    $("lost").replaceChildren(...[`There is no service ${service} here`, ...others, "."].filter(Boolean));
  });
  $("lost").hidden = false;
  view.lost = "no such service";
  showLive();
}
function lost(error) {
  view.lost = error !== null && "lost";
  const banner = $("lost");
  banner.hidden = error === null;
  if (view.lost) {
    const since = view.updated ? `what is shown is of ${time(view.updated)}` : "nothing is known yet";
    const why = error && error.name === "TimeoutError" ? "it does not answer" : (error && error.message) || "it cannot be reached";
    const text = `Connection lost: ${why}; ${since}. Trying again.`;
    redraw("lost", text, () => banner.replaceChildren(text));
  }
  showLive();
}
function showLive() {
  const [text, kind] = view.lost ? [view.lost, "bad"] : view.paused ? ["paused", "idle"] : view.updated ? [`live, ${time(view.updated)}`, "good"] : ["connecting", "idle"];
  $("live").dataset.kind = kind;
  setText($("live-text"), text);
}
