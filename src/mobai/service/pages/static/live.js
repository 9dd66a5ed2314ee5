// Shows an experiment as it is now: whenever the stream says that something has changed, what changes is loaded anew.
const live = document.getElementById("live");
const word = document.getElementById("word");
let source = null;
let waiting = false;

async function renew() {
  if (waiting) return;
  waiting = true;
  try {
    const answer = await fetch(live.dataset.part, { credentials: "same-origin" });
    if (answer.ok) {
      const before = live.querySelector(".headline").textContent;
      const fresh = document.createElement("div");
      fresh.innerHTML = await answer.text(); // made by the server, which escapes what is in it
      const after = fresh.querySelector(".headline");
      if (after.textContent === before) after.removeAttribute("aria-live");
      live.replaceChildren(...fresh.childNodes);
      word.textContent = "";
    }
  } catch {
    word.textContent = "The service does not answer; it is tried again.";
  } finally {
    waiting = false;
  }
}

function follow() {
  source = new EventSource(live.dataset.stream);
  source.addEventListener("status", renew);
  source.addEventListener("bye", (event) => {
    source.close();
    if (event.data.startsWith("the service")) setTimeout(follow, 2000);
    else word.textContent = event.data;
  });
}

// A tab that nobody sees costs nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    source?.close();
    source = null;
  } else if (source === null) {
    renew();
    follow();
  }
});
if (!document.hidden) follow();
