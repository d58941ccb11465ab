// What people can press, and the start.

$("explain").addEventListener("submit", explain);
$("filter").addEventListener("input", (event) => {
  view.filter = event.target.value.trim();
  if (view.state) show();
});
$("service").addEventListener("change", (event) => {
  view.service = event.target.value;
  restart();
});
$("pause").addEventListener("click", () => {
  view.paused = !view.paused;
  $("pause").setAttribute("aria-pressed", String(view.paused));
  showLive();
  if (!view.paused) poll();
  else clearTimeout(waiting);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !view.paused) poll();
});
drawHeads();
showDetail();
poll();
