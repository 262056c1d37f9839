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
// Folded tables are opened for printing; image grids stay folded, because they are too large.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details.fold").forEach((one) => { one.open = true; });
});
