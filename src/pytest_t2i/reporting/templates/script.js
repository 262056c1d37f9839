// A prompt's grid lies inside closed details: a link to it opens them.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();
// Paper cannot unfold; image grids stay as they are, for they would fill a book.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details.fold").forEach((one) => { one.open = true; });
});
