"use strict";
// The page can be read without this: it only finds, filters and folds.
(() => {
  const nav = document.querySelector("nav");
  const search = nav.querySelector("input[type=search]");
  const boxes = [...nav.querySelectorAll("input[type=checkbox]")];
  const tests = [...document.querySelectorAll(".test")];
  const names = new Map(tests.map((test) => [
    test, `${test.dataset.name} ${test.querySelector("summary > .query")?.textContent ?? ""}`.toLowerCase()]));
  const found = nav.querySelector(".found");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    for (const test of tests) {
      const name = names.get(test);
      const fits = shown.has(test.dataset.outcome) && words.every((word) => name.includes(word));
      test.hidden = !fits;
      count += fits;
    }
    found.textContent = count === tests.length ? "" : `${count} of ${tests.length} shown`;
  };
  search.addEventListener("input", filter);
  boxes.forEach((box) => box.addEventListener("change", filter));
  nav.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    tests.forEach((test) => { test.open = button.value === "open"; });
  }));
  nav.hidden = false;
  filter();
})();
