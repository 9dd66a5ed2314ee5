// The plan beside the form of a new experiment follows what is typed.
const form = document.getElementById("new");
const plan = document.getElementById("plan");
let timer = null;
let last = "";
let turn = 0;

async function renew() {
  const body = new URLSearchParams(new FormData(form)).toString();
  if (body === last) return;
  last = body;
  const mine = ++turn;
  plan.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.dataset.plan, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body,
    });
    const html = await answer.text();
    if (mine !== turn) return;
    if (answer.ok) plan.innerHTML = html; // made by the server
    else plan.textContent = "The plan cannot be made now.";
  } catch {
    last = ""; // tried again with the next key
  }
  plan.removeAttribute("aria-busy");
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(renew, 250);
});
form.addEventListener("submit", () => {
  removeEventListener("beforeunload", warn);
});
document.getElementById("show-plan").remove();
renew();

// What was typed is not lost by a slip.
let typed = false;
form.addEventListener("input", () => (typed = true));
function warn(event) {
  if (typed) event.preventDefault();
}
addEventListener("beforeunload", warn);
document.querySelector(".problems")?.focus();
