"use strict";
const state = JSON.parse(document.getElementById("state").textContent);
const entries = state.entries;
const isReview = state.mode === "review";
const choices = new Map(state.choices.map((choice, place) => [choice.name, { ...choice, place }]));
const KEYS = Object.fromEntries(state.choices.map((choice) => [choice.key, choice.name]));
const word = (label) => label.replaceAll("_", " ");
const place = (label) => (choices.has(label) ? choices.get(label).place : "");
const by = (id) => document.getElementById(id);
const [stage, picture, done] = [document.querySelector(".stage"), by("picture"), by("done")];
const image = (index) => `/image/${index}?${state.sitting}`;
const buttons = [...document.querySelectorAll(".labels button")];

/* What undo goes back through: the picture, and the word that stood there before. */
const past = [];
/* Index of the picture shown; entries.length is the page that says all is done. */
let at = firstOpen(0);
/* Keys come faster than answers: each waits for the one before, none is lost. */
let queue = Promise.resolve();
let isFailing = false;
/* A reason is being asked for, or about to be: what is typed meanwhile is no label. */
let isAsking = false;
/* Counted once: a set may have 100,000 pictures. */
let labelled = entries.filter((one) => one.label).length;

function firstOpen(from) {
  for (let step = 0; step < entries.length; step += 1) {
    const index = (from + step) % entries.length;
    if (!entries[index].label) return index;
  }
  return entries.length;
}

function show() {
  const entry = entries[at];
  by("count").textContent = `${labelled} of ${entries.length} ${isReview ? "settled" : "labelled"}`;
  by("left").textContent = labelled === entries.length ? "complete" : `${entries.length - labelled} left`;
  by("fill").style.width = `${(100 * labelled) / entries.length}%`;
  by("track").setAttribute("aria-valuemax", entries.length);
  by("track").setAttribute("aria-valuenow", labelled);
  by("place").textContent = entry ? `${at + 1} / ${entries.length}` : "end";
  stage.dataset.place = entry ? place(entry.label) : "";
  for (const button of buttons) button.setAttribute("aria-pressed", Boolean(entry) && entry.label === button.dataset.label);
  for (const button of buttons) button.disabled = !entry;
  by("forth").disabled = !entry;
  done.hidden = Boolean(entry);
  picture.hidden = !entry;
  by("unshown").hidden = true;
  by("question").textContent = entry ? entry.question : "";
  by("question").hidden = !entry || !entry.question;
  if (entry) {
    picture.src = image(at);
    picture.alt = isReview ? entry.file : `picture ${at + 1} of ${entries.length}`;
    for (const near of [at + 1, at + 2]) if (near < entries.length) new Image().src = image(near);
  } else {
    by("done-title").textContent = isReview ? "Everything is settled." : "Every picture is labelled.";
    by("done-text").textContent = "It is all saved. Go back with ← to change a label, or close the page.";
  }
  if (isReview) showOthers(entry);
}

function showOthers(entry) {
  const rows = entry ? entry.said : [];
  by("said").replaceChildren(...rows.map((one) => {
    const row = document.createElement("li");
    row.dataset.place = place(one.label);
    const said = document.createElement("b");
    said.textContent = word(one.label);
    row.append(said, one.who);
    if (one.reason) row.append(Object.assign(document.createElement("small"), { textContent: one.reason }));
    return row;
  }));
  by("said-head").hidden = by("about").hidden = !entry;
  const settled = entry && entry.label ? word(entry.label) + (entry.reason ? `: ${entry.reason}` : "") : "not yet";
  by("settled").textContent = settled;
  by("file").textContent = entry ? entry.file : "";
  by("prompt").textContent = entry ? entry.prompt : "";
  by("prompt-row").hidden = !entry || !entry.prompt;
  [...by("overview").children].forEach((button, index) => {
    button.dataset.place = place(entries[index].label);
    button.setAttribute("aria-current", index === at);
    if (index === at && window.innerWidth > 700) button.scrollIntoView({ block: "nearest" });
  });
}

function say(text, bad = false) {
  by("status").textContent = text;
  by("status").classList.toggle("bad", bad);
  isFailing = bad;
}

async function post(path, body) {
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.problem);
  labelled += Boolean(answer.label) - Boolean(entries[body.index].label);
  entries[body.index] = answer;
}

function inTurn(task) {
  queue = queue.then(task).catch((error) => {
    const gone = error instanceof TypeError;
    say(gone ? "Not saved: the server does not answer. Start it again and open the address it prints; what was saved before is kept." : `Not saved: ${error.message}`, true);
    show();
  });
  return queue;
}

/* The picture is chosen when the key's turn comes, so that fast keys label one picture each. */
function put(label, reason = "", index = null) {
  return inTurn(async () => {
    const which = index ?? at;
    if (which >= entries.length) return;
    const { label: before, reason: why } = entries[which];
    await post("/label", { index: which, label, reason });
    past.push({ index: which, before, why });
    say(`Saved: ${word(label)}${reason ? ` (${reason})` : ""}.`);
    at = firstOpen(which + 1);
    show();
  });
}

function undo() {
  return inTurn(async () => {
    /* After a restart nothing is remembered: the one before in the order was the last. */
    const last = past.pop() ?? lastBefore(at);
    if (!last) { say("There is nothing to take back."); return; }
    try {
      if (last.before) await post("/label", { index: last.index, label: last.before, reason: last.why });
      else await post("/undo", { index: last.index });
    } catch (error) { past.push(last); throw error; }
    at = last.index;
    say(last.before ? `Back to ${word(last.before)}.` : "Taken back.");
    show();
  });
}

function lastBefore(index) {
  for (let one = index - 1; one >= 0; one -= 1) if (entries[one].label) return { index: one, before: "", why: "" };
  return null;
}

function walk(step) {
  return inTurn(() => {
    const end = labelled === entries.length ? entries.length : entries.length - 1;
    at = Math.min(Math.max(at + step, 0), end);
    if (!isFailing) say("");
    show();
  });
}

function askReason(label) {
  isAsking = true;
  return inTurn(() => new Promise((resolve) => {
    const index = at;
    if (index >= entries.length) { isAsking = false; resolve(); return; }
    const [box, input] = [by("reason-box"), by("reason")];
    by("reason-title").textContent = `${word(label)[0].toUpperCase()}${word(label).slice(1)}: why?`;
    input.value = entries[index].label === label ? entries[index].reason : "";
    input.required = label === state.needsReason;
    by("chips").replaceChildren(...choices.get(label).reasons.map((text, number) => {
      const chip = document.createElement("button");
      chip.type = "button";
      chip.append(Object.assign(document.createElement("kbd"), { textContent: number + 1 }), ` ${text}`);
      chip.addEventListener("click", () => { input.value = text; by("reason-form").requestSubmit(); });
      return chip;
    }));
    let reason = null;
    by("reason-form").onsubmit = (event) => {
      const text = input.value.trim();
      if (input.required && !text) { event.preventDefault(); input.focus(); return; }
      reason = text;
    };
    by("reason-cancel").onclick = () => box.close();
    box.onclose = () => { isAsking = false; resolve(); if (reason !== null) put(label, reason, index); };
    box.showModal();
    input.focus();
  }));
}

by("reason").addEventListener("keydown", (event) => {
  const chip = by("chips").children[Number(event.key) - 1];
  if (!by("reason").value && chip) { event.preventDefault(); chip.click(); }
});

function choose(label, withReason = false) {
  return label === state.needsReason || withReason ? askReason(label) : put(label);
}

document.addEventListener("keydown", (event) => {
  /* A key held down must not label a row of pictures. */
  if (event.ctrlKey || event.metaKey || event.altKey || isAsking || document.querySelector("dialog[open]")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isArrow = key === "ArrowLeft" || key === "ArrowRight";
  const known = key in KEYS || isArrow || key === "u" || key === "Backspace" || key === "?";
  if (!known) return;
  event.preventDefault();
  if (event.repeat && !isArrow) return;
  if (key in KEYS) choose(KEYS[key], event.shiftKey && !choices.get(KEYS[key]).clear);
  else if (isArrow) walk(key === "ArrowLeft" ? -1 : 1);
  else if (key === "?") by("guide").showModal();
  else undo();
});

for (const button of buttons) {
  button.addEventListener("click", (event) => { choose(button.dataset.label, event.shiftKey && !choices.get(button.dataset.label).clear); button.blur(); });
}
by("back").addEventListener("click", () => walk(-1));
by("forth").addEventListener("click", () => walk(1));
by("undo").addEventListener("click", () => undo());
by("help-button").addEventListener("click", () => by("guide").showModal());
picture.addEventListener("error", () => { picture.hidden = true; by("unshown").hidden = false; });

if (isReview) {
  by("overview").replaceChildren(...entries.map((entry, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = entry.file;
    button.append(Object.assign(document.createElement("img"), { src: image(index), alt: entry.file, loading: "lazy" }));
    button.addEventListener("click", () => inTurn(() => { at = index; show(); }));
    return button;
  }));
}
show();
say(labelled && at < entries.length ? "Going on where you were." : "");
