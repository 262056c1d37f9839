// A link to a prompt's grid opens the closed details around the grid.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();
// The list of prompts is filtered by word and verdict; without a script the filter stays hidden.
const filter = document.querySelector(".filter");
if (filter) {
  const rows = [...document.querySelectorAll(".prompt")];
  const more = document.getElementById("more-prompts");
  const apply = () => {
    const word = filter.word.value.trim().toLowerCase(), outcome = filter.outcome.value;
    let count = 0;
    for (const row of rows) {
      row.hidden = !row.dataset.words.includes(word) || (outcome !== "" && row.dataset.outcome !== outcome);
      count += !row.hidden;
    }
    filter.querySelector("output").value = word || outcome ? `${count} of ${rows.length}` : "";
    if (more && (word || outcome)) more.open = true;
  };
  filter.hidden = false;
  filter.addEventListener("input", apply);
  filter.addEventListener("submit", (event) => { event.preventDefault(); });
}
// Folded tables are opened for printing; image grids stay folded, because they are too large.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details.fold, .folds:not(#images) > details").forEach((one) => { one.open = true; });
});
