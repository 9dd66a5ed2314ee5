// A worker in JavaScript (Node 18 or newer, no packages): a visitor keeps its variant, signups come late.
//
//     mobai serve &
//     node examples/worker.mjs http://127.0.0.1:8321
const address = process.argv[2] ?? "http://127.0.0.1:8321";
const base = `${address}/api/v1/experiments`;
const headers = { "Content-Type": "application/json" };
if (process.env.MOBAI_TOKEN) headers.Authorization = `Bearer ${process.env.MOBAI_TOKEN}`;

async function call(method, path, body) {
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const found = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(found.detail);
  return found;
}

const experiment = {
  name: "buttons",
  arms: ["green", "orange"],
  objectives: ["click:bernoulli", "signup:bernoulli"],
  delta: 0.1,
};
await call("POST", "", experiment); // 201; 200 if it is there already
const chances = { green: { click: 0.2, signup: 0.1 }, orange: { click: 0.8, signup: 0.6 } };

let stopped = false;
const late = []; // signups that are known some visitors later
for (let visitor = 1; !stopped; visitor++) {
  const unit = `visitor ${visitor}`;
  const found = await call("PUT", `/buttons/units/${encodeURIComponent(unit)}`);
  const { arm } = found.assignments[0];
  const click = Math.random() < chances[arm].click ? 1 : 0;
  late.push({ unit, metrics: { signup: Math.random() < chances[arm].signup ? 1 : 0 } });
  const reports = [{ unit, metrics: { click } }];
  if (late.length > 10) reports.push(late.shift());
  ({ stopped } = await call("POST", "/buttons/reports", { reports }));
}
const status = await call("GET", "/buttons");
for (const { objective, arm } of status.objectives) console.log(`${objective}: ${arm}`);
