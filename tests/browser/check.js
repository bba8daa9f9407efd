"use strict";
// Looks at every page in a frame and writes what is wrong with it into #result. It knows nothing about Moonquake.
(function () {
  var faults = [], looked = { texts: 0, links: 0, frames: 0 };
  function shown(rect) { return rect.width > 0.5 && rect.height > 0.5; }
  function meet(a, b) { return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; }
  function overlaps(items, say) {
    items.sort(function (a, b) { return a.rect.top - b.rect.top; });
    for (var i = 0; i < items.length; i++) {
      for (var j = i + 1; j < items.length && items[j].rect.top < items[i].rect.bottom - 1; j++) {
        if (items[i].owner !== items[j].owner && meet(items[i].rect, items[j].rect)) { say("overlap: '" + items[i].text + "' and '" + items[j].text + "'"); }
      }
    }
  }
  function htmlTexts(doc) {
    var items = [], walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT), node;
    while ((node = walker.nextNode())) {
      var parent = node.parentElement;
      if (!node.data.trim() || parent.closest("svg,script,style,.skip")) { continue; }
      var fold = parent.closest("details:not([open])");
      if (fold && !parent.closest("summary")) { continue; }
      var head = parent.closest("thead");
      if (head && doc.defaultView.getComputedStyle(head).position === "absolute") { continue; }
      var range = doc.createRange();
      range.selectNodeContents(node);
      Array.prototype.forEach.call(range.getClientRects(), function (rect) {
        if (shown(rect)) { items.push({ rect: rect, text: node.data.trim().slice(0, 40), owner: node }); }
      });
    }
    return items;
  }
  function check(name, frame) {
    var doc = frame.contentDocument, root = doc.documentElement, told = {};
    function say(what) { if (!told[what] && Object.keys(told).length < 12) { told[what] = 1; faults.push(name + ": " + what); } }
    looked.frames += 1;
    ["light", "dark"].forEach(function (theme) {
      root.dataset.theme = theme;
      Array.prototype.forEach.call(doc.querySelectorAll("svg"), function (svg) {
        var frameRect = svg.getBoundingClientRect(), items = [];
        if (!shown(frameRect)) { return; }
        Array.prototype.forEach.call(svg.querySelectorAll("text"), function (text) {
          var rect = text.getBoundingClientRect();
          if (!shown(rect)) { return; }
          if (rect.left < frameRect.left - 1 || rect.right > frameRect.right + 1 || rect.top < frameRect.top - 1 || rect.bottom > frameRect.bottom + 1) { say(theme + ": label outside its picture: '" + text.textContent + "'"); }
          items.push({ rect: rect, text: text.textContent, owner: text });
        });
        looked.texts += items.length;
        overlaps(items, function (what) { say(theme + ": " + what); });
      });
      var texts = htmlTexts(doc);
      looked.texts += texts.length;
      overlaps(texts, function (what) { say(theme + ": " + what); });
      var style = doc.defaultView.getComputedStyle(doc.body);
      if (style.color === style.backgroundColor) { say(theme + ": text has the colour of the page"); }
    });
    if (root.scrollWidth > root.clientWidth) { say("the page scrolls sideways: " + root.scrollWidth + " > " + root.clientWidth); }
    var ids = {};
    Array.prototype.forEach.call(doc.querySelectorAll("[id]"), function (one) {
      if (ids[one.id] && one.id !== "hatch") { say("two elements have the id " + one.id); }
      ids[one.id] = 1;
    });
    Array.prototype.forEach.call(doc.querySelectorAll("a"), function (link) {
      var to = link.getAttribute("href") || "";
      looked.links += 1;
      if (to[0] === "#" && !ids[to.slice(1)]) { say("link to nothing: " + to); }
      if (!/^(#|https:\/\/|\.\/)/.test(to)) { say("strange link: " + to); }
    });
    if (doc.querySelector("link,img,iframe,object,embed,script[src]")) { say("something from outside stands in the page"); }
    var fetched = frame.contentWindow.performance.getEntriesByType("resource").length;
    if (fetched) { say(fetched + " resources were fetched"); }
    frame.contentWindow.dispatchEvent(new frame.contentWindow.Event("beforeprint"));
    if (doc.querySelector("details:not([open])")) { say("on paper something stays folded"); }
    overlaps(htmlTexts(doc), function (what) { say("unfolded: " + what); });
    frame.contentWindow.dispatchEvent(new frame.contentWindow.Event("afterprint"));
  }
  addEventListener("load", function () {
    try {
      Array.prototype.forEach.call(document.querySelectorAll("iframe"), function (frame) { check(frame.title, frame); });
    } catch (error) { faults.push("the check itself failed: " + error); }
    document.getElementById("result").textContent = "BEGIN\n" + faults.join("\n") + "\nEND " + JSON.stringify(looked);
    Array.prototype.forEach.call(document.querySelectorAll("iframe"), function (frame) { frame.remove(); });
  });
})();
