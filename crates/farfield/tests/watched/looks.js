// Faults of a page that a person would see, in words, for WebDriver's "execute script"; none of a page that looks
// right. Boxes are those that the browser has laid out, cut at what scrolls or hides around them.
const found = [];
const root = document.documentElement;
const named = (element) => {
  const words = (element.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40);
  const kind = element.getAttribute("class");
  return `${element.localName}${kind ? `.${kind.split(" ").join(".")}` : ""} '${words}'`;
};
const report = (fault, ...elements) => found.push(`${fault}: ${elements.map(named).join(" and ")}`);
const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });

// The part of the sheet in which an element's box may be seen.
const windows = new Map();
const windowOf = (element) => {
  if (!element || element === document.body || element === root) return { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9, scrolls: false };
  if (windows.has(element)) return windows.get(element);
  const around = windowOf(element.parentElement);
  const style = getComputedStyle(element);
  const isCut = element.localName !== "svg" && (style.overflowX !== "visible" || style.overflowY !== "visible");
  const box = element.getBoundingClientRect();
  const seen = !isCut ? around : {
    left: Math.max(around.left, box.left), top: Math.max(around.top, box.top),
    right: Math.min(around.right, box.right), bottom: Math.min(around.bottom, box.bottom), scrolls: true,
  };
  windows.set(element, seen);
  return seen;
};

// Overflow.
if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}`);
for (const element of document.body.querySelectorAll("*")) {
  if (element.closest("svg") !== null && element.localName !== "svg") continue;
  if (!isShown(element)) continue;
  const box = element.getBoundingClientRect();
  // What is there for assistive programs alone is a pixel in size; a link past the navigation is seen once it is
  // reached.
  if (box.width <= 1 || box.height <= 1 || element.matches(".skip,.skip *")) continue;
  const isOut = box.right > root.clientWidth + 1 || box.left < -1;
  if (isOut && !windowOf(element.parentElement).scrolls) report("sticks out of the window", element);
  const style = getComputedStyle(element);
  const hides = ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis";
  // The text of a field is moved by its caret.
  if (hides && !["svg", "input", "select"].includes(element.localName) && element.scrollWidth > element.clientWidth + 1) report("hides its end", element);
  // A scrolling box that the keyboard cannot reach.
  if (["auto", "scroll"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && element.tabIndex < 0
    && !["textarea", "pre"].includes(element.localName)) report("scrolls by the pointer alone", element);
}

// Texts: a rectangle for each line of them, with the element that has them.
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const range = document.createRange();
while (walker.nextNode()) {
  const node = walker.currentNode, element = node.parentElement;
  if (!node.data.trim() || element.closest("title,script,style,option,textarea") || !isShown(element)) continue;
  const isDrawn = element.namespaceURI.endsWith("svg");
  range.selectNodeContents(node);
  const boxes = isDrawn ? [element.getBoundingClientRect()] : [...range.getClientRects()];
  const seen = windowOf(element);
  for (const box of boxes) {
    const [left, right] = [Math.max(box.left, seen.left), Math.min(box.right, seen.right)];
    const [top, bottom] = [Math.max(box.top, seen.top), Math.min(box.bottom, seen.bottom)];
    if (right - left > 1 && bottom - top > 1) texts.push({ element, left, right, top, bottom });
  }
  if (!isDrawn) continue;
  const sheet = element.closest("svg").getBoundingClientRect();
  const [box] = boxes;
  if (box.left < sheet.left - 1.5 || box.right > sheet.right + 1.5 || box.top < sheet.top - 1.5 || box.bottom > sheet.bottom + 1.5) {
    report("leaves its drawing", element);
  }
}
texts.sort((a, b) => a.top - b.top);
texts.forEach((one, at) => {
  for (let next = at + 1; next < texts.length && texts[next].top < one.bottom - 3; next++) {
    const other = texts[next];
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const down = Math.min(one.bottom, other.bottom) - other.top;
    // Boxes of letters reach into those of the lines beside them, where nothing is drawn.
    const least = Math.min(one.bottom - one.top, other.bottom - other.top);
    if (across > 2 && down > 0.35 * least) report("overlap", one.element, other.element);
  }
});

// Contrast (WCAG 2.2, 1.4.3 and 1.4.11) of what is drawn: axe-core looks at HTML alone.
const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
const luminance = (colour) => {
  const [r, g, b] = channels(colour).map((of) => of / 255).map((of) => (of <= 0.04045 ? of / 12.92 : ((of + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
};
const paperOf = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const paper = getComputedStyle(at).backgroundColor;
    if (channels(paper)[3] !== 0) return paper;
  }
  return "rgb(255, 255, 255)";
};
const charts = [...document.querySelectorAll("svg")].filter((svg) => isShown(svg) && svg.querySelector("g.scales"));
for (const svg of charts) {
  const sheet = svg.querySelector("rect");
  const paper = sheet ? getComputedStyle(sheet).fill : paperOf(svg);
  for (const text of svg.querySelectorAll("text")) {
    const ratio = contrast(getComputedStyle(text).fill, paper);
    if (text.textContent && isShown(text) && ratio < 4.5) report(`faint text, ${ratio.toFixed(1)} to 1`, text);
  }
  for (const line of svg.querySelectorAll("g.series polyline")) {
    const ratio = contrast(getComputedStyle(line).stroke, paper);
    if (ratio < 3) report(`faint line, ${ratio.toFixed(1)} to 1`, line.parentElement);
  }
}

// Charts: as wide as their column. As many stand beside each other as there is room for at 390 px
// each.
for (const svg of charts) {
  let block = svg.parentElement;
  while (block !== document.body && !["body", "main", "section", "details"].includes(block.localName) && !block.matches(".pair,.charts,.plots,.bands")) block = block.parentElement;
  const style = getComputedStyle(block);
  const room = block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const isGrid = style.display === "grid";
  const gap = isGrid ? parseFloat(style.columnGap) || 0 : 0;
  const columns = isGrid ? Math.max(1, Math.floor((room + gap) / (390 + gap))) : 1;
  const column = (room - gap * (columns - 1)) / columns;
  const { width, height } = svg.getBoundingClientRect();
  if (width < 0.9 * column) report(`a chart of ${width.toFixed(0)} px in a column of ${column.toFixed(0)}`, svg);
  const [, , , low, high] = svg.querySelector("g.scales").dataset.y.split(" ").map(Number);
  const share = (low - high) / svg.viewBox.baseVal.height;
  if (share < 0.5) report(`a plot of ${(share * 100).toFixed(0)} % of its chart's height`, svg);
  if (height < 100) report(`a chart ${height.toFixed(0)} px high`, svg);
}
return found;
