// What is wrong with the boxes of an open page, as a list of texts: nothing may be clipped, truncated or overlapping.
const faults = [];
const say = (what, element, more = "") => faults.push(`${what}: <${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}${
    element.className && element.className.baseVal === undefined ? "." + element.className : ""}> ${more || element.textContent.trim().slice(0, 50)}`);
const wide = document.documentElement.clientWidth;
const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest(".skip, caption, option");

// Clipped: nothing reaches beyond the page, and nothing that scrolls or hides has more inside than it shows.
if (document.documentElement.scrollWidth > wide) faults.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} > ${wide}`);
for (const element of document.querySelectorAll("body *")) {
    if (!shown(element) || element.closest("svg") || element.matches(".bar, .bar *, .pm, .pm *")) continue;
    const box = element.getBoundingClientRect();
    if (!box.width) continue;
    if (box.right > wide + 1 || box.left < -1) say("beyond the page", element);
    const style = getComputedStyle(element);
    if (style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1) say("clipped", element);
    if (style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth) say("truncated", element);
}
// Truncated: a select as narrow as it is shows less than its longest entry.
for (const select of document.querySelectorAll("select")) {
    const free = select.cloneNode(true);
    free.removeAttribute("id");
    free.style.cssText = "max-width:none;width:auto;position:absolute;visibility:hidden";
    select.parentElement.append(free);
    if (free.getBoundingClientRect().width > select.getBoundingClientRect().width + 1) say("truncated", select, select.selectedOptions[0]?.text);
    free.remove();
}
// Overlapping: the lines of all texts, those of charts too.
const lines = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, style, noscript, option, select, caption") || !shown(element)) continue;
    if (element.closest("svg") && (node.textContent.includes("…") || node.textContent.endsWith("..."))) say("truncated", element);
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = element.closest("svg") ? [element.getBoundingClientRect()] : range.getClientRects();
    for (const box of boxes) if (box.width > 1 && box.height > 1) lines.push({ box, node, text: node.textContent.trim().slice(0, 30) });
}
lines.sort((a, b) => a.box.top - b.box.top);
lines.forEach((one, k) => {
    if (one.box.right > wide + 1 || one.box.left < -1) faults.push(`text beyond the page: ${one.text}`);
    const section = one.node.parentElement.closest("section");
    if (section && one.box.right > section.getBoundingClientRect().right) faults.push(`text beyond its section: ${one.text}`);
    for (let j = k + 1; j < lines.length && lines[j].box.top < one.box.bottom - 3; j++) {
        const other = lines[j];
        const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
        if (across > 1.5 && down > 3 && one.node !== other.node) faults.push(`overlapping: "${one.text}" and "${other.text}"`);
    }
});
// Names: an id stands for one element, or a script writes into another.
const ids = [...document.querySelectorAll("[id]")].filter((element) => !element.closest("svg")).map((element) => element.id);
for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push(`an id twice: ${id}`);
// Cards: no row of them holds a single one unless a row holds two at most.
const cards = [...document.querySelectorAll(".findings > div")].map((card) => card.getBoundingClientRect());
const rows = Map.groupBy(cards, (box) => Math.round(box.top));
const counts = [...rows.values()].map((row) => row.length);
if (counts.length > 1 && Math.max(...counts) > 2 && Math.max(...counts) - counts.at(-1) > 1) faults.push(`cards wrap ${counts.join(" + ")}`);
return faults;
