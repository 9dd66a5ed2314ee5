// Shows an experiment as it is now: the stream sends the parts of the page, and those that have changed are replaced.
import { plot, plotAll } from "./plots.js";

const live = document.getElementById("live");
const word = document.getElementById("word");
const shown = new Map(); // by part: the HTML that was sent last
const told = new Set(JSON.parse(live.dataset.marks));
let stamp = live.dataset.stamp;
let source = null;
let retry = null;

// Replace what is in an element; what is unfolded stays so, and the focus stays where it is.
function swap(element, html) {
  const unfolded = [...element.querySelectorAll("details")].map((one) => one.open);
  const places = "a, button, input, select, summary, [tabindex]";
  const focus = [...element.querySelectorAll(places)].indexOf(document.activeElement);
  element.innerHTML = html; // made by the server, which escapes what is in it
  element.querySelectorAll("details").forEach((one, n) => {
    if (n < unfolded.length) one.open = unfolded[n];
  });
  if (focus >= 0) element.querySelectorAll(places)[focus]?.focus({ preventScroll: true });
}

function renew(facts) {
  stamp = facts.stamp;
  live.dataset.state = facts.state;
  live.dataset.paused = facts.paused;
  live.dataset.empty = facts.empty;
  document.getElementById("state").textContent = facts.state;
  document.title = facts.title;
  for (const [name, html] of Object.entries(facts.parts)) {
    const part = live.querySelector(`[data-part="${name}"]`);
    if (part === null || shown.get(name) === html) continue;
    shown.set(name, html);
    if (name === "tradeoff" && chosen() !== null) continue;
    swap(part, html);
    plot(part);
  }
  if (document.querySelector(".axis-choice") === null) plotAll();
  const news = facts.happened.filter((one) => !told.has(one.mark));
  for (const one of news) told.add(one.mark);
  if (news.length > 0) say(news.map((one) => one.text).join("; "), true);
  later();
}

// Said to everybody, also to those who hear the page.
function say(text, keep = false) {
  word.textContent = text;
  word.classList.toggle("kept", keep);
}

function follow() {
  clearTimeout(retry);
  source?.close();
  source = new EventSource(`${live.dataset.stream}?after=${encodeURIComponent(stamp)}`);
  source.addEventListener("open", () => {
    if (!word.classList.contains("kept")) say("");
  });
  source.addEventListener("page", (event) => renew(JSON.parse(event.data)));
  source.addEventListener("bye", (event) => {
    source.close();
    source = null;
    if (event.data.startsWith("the service")) again();
    else if (!event.data.includes("closed")) say(`No longer live: ${event.data}. Load the page again.`, true);
  });
  source.addEventListener("error", () => {
    if (source === null) return;
    say("The service does not answer. It is tried again.");
    if (source.readyState === EventSource.CLOSED) again();
  });
}

function again() {
  if (!word.classList.contains("kept")) say("The service does not answer. It is tried again.");
  clearTimeout(retry);
  retry = setTimeout(() => document.hidden || follow(), 1500);
}

// A tab that nobody sees costs nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(retry);
    source?.close();
    source = null;
  } else if (source === null && live.dataset.state !== "closed") follow();
});
addEventListener("pagehide", () => source?.close());

// The trade-off of two objectives that were chosen here is loaded by itself.
const form = document.getElementById("pair");
let asked = 0;

function chosen() {
  if (form === null) return null;
  const [x, y] = [form.elements.x.value, form.elements.y.value];
  return `${x}|${y}` === form.dataset.default ? null : new URLSearchParams({ x, y });
}

async function loadTradeoff() {
  const pair = chosen();
  const part = live.querySelector('[data-part="tradeoff"]');
  if (pair === null) {
    if (shown.has("tradeoff")) return swap(part, shown.get("tradeoff"));
  }
  asked = Date.now();
  const answer = await fetch(`${form.dataset.fragment}?${pair ?? new URLSearchParams(new FormData(form))}`);
  if (answer.ok) swap(part, await answer.text());
}

function later() {
  if (chosen() !== null && Date.now() - asked > 2000) loadTradeoff().catch(() => {});
}

form?.addEventListener("change", () => loadTradeoff().catch(() => form.submit()));
form?.querySelector("button").remove();

// What can be done is asked for in a dialog: its page, without the rest.
const dialog = document.getElementById("dialog");
for (const link of document.querySelectorAll("a[data-dialog]")) {
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    try {
      const answer = await fetch(link.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const content = page.getElementById("action");
      if (!answer.ok || content === null) throw new Error("another page");
      dialog.replaceChildren(content);
      dialog.querySelector("[data-cancel]").addEventListener("click", (cancel) => {
        cancel.preventDefault();
        dialog.close();
      });
      dialog.showModal();
      (dialog.querySelector("input:not([type=hidden]), select") ?? dialog.querySelector("button")).focus();
    } catch {
      location.href = link.href;
    }
  });
}

plotAll();
if (!document.hidden && live.dataset.state !== "closed") follow();
