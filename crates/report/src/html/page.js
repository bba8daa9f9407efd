"use strict";
(function () {
  var root = document.documentElement, all = function (what) { return Array.prototype.slice.call(document.querySelectorAll(what)); };
  all(".js").forEach(function (part) { part.hidden = false; });
  all("[data-theme-toggle]").forEach(function (button) {
    button.onclick = function () {
      var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    };
  });
  all("[data-copy]").forEach(function (button) {
    button.onclick = function () {
      var from = document.getElementById(button.dataset.copy);
      var done = function () { button.textContent = "Copied"; };
      var select = function () { var range = document.createRange(); range.selectNodeContents(from); var own = getSelection(); own.removeAllRanges(); own.addRange(range); button.textContent = "Selected"; };
      if (navigator.clipboard) { navigator.clipboard.writeText(from.textContent).then(done, select); } else { select(); }
    };
  });
  var shut = [];
  addEventListener("beforeprint", function () { shut = all("details:not([open])"); shut.forEach(function (one) { one.open = true; }); });
  addEventListener("afterprint", function () { shut.forEach(function (one) { one.open = false; }); });
  var show = function () {
    var id = decodeURIComponent(location.hash.slice(1)), to = id && document.getElementById(id);
    all(".hit").forEach(function (row) { row.classList.remove("hit"); });
    if (!to) { return; }
    for (var up = to; up; up = up.parentElement) { if (up.tagName === "DETAILS") { up.open = true; } }
    var row = to.closest("tr");
    if (row) { row.classList.add("hit"); row.scrollIntoView({ block: "center" }); }
  };
  addEventListener("hashchange", show);
  show();
  var rows = all("tr[data-run]");
  if (rows.length) {
    var text = document.getElementById("filter"), picks = all("select[data-pick]"), count = document.getElementById("shown");
    var apply = function () {
      var words = text.value.toLowerCase().split(/\s+/).filter(Boolean), left = 0;
      rows.forEach(function (row) {
        var fits = words.every(function (word) { return row.textContent.toLowerCase().indexOf(word) >= 0; }) && picks.every(function (pick) { return !pick.value || row.dataset[pick.dataset.pick] === pick.value; });
        row.hidden = !fits;
        left += fits ? 1 : 0;
      });
      count.textContent = left + " of " + rows.length + " shown";
    };
    text.oninput = apply;
    picks.forEach(function (pick) { pick.onchange = apply; });
    apply();
  }
})();
