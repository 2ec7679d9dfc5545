// Draws what the summary holds. All text from data goes through textContent, or through `safe` where HTML is written.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const json = (id) => ($(id) ? JSON.parse($(id).textContent) : null);
  const config = json("config"), loadings = json("loadings-data"), rows = json("rows-data");
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  };
  const safe = (value) =>
    String(value).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
  const figure = (value, digits = 3) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size >= 10 ** digits) return Math.round(value).toLocaleString("en").replace("-", "−");
    if (size !== 0 && size < 1e-4) return value.toExponential(1).replaceAll("-", "−");
    return String(Number(value.toPrecision(digits))).replace("-", "−");
  };
  const share = (value) => (value === null ? "" : (100 * value).toFixed(value < 0.0995 ? 1 : 0) + "%");

  // Theme: the system's, or the one chosen here. A page opened from a file may have no storage.
  const themes = ["auto", "light", "dark"];
  const kept = { read() { try { return localStorage.getItem("gramian-theme"); } catch { return null; } },
                 write(value) { try { localStorage.setItem("gramian-theme", value); } catch { /* none here */ } } };
  const setTheme = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
    $("theme").setAttribute("aria-label", `Theme: ${theme === "auto" ? "follow the system" : theme}`);
  };
  let theme = themes.includes(kept.read()) ? kept.read() : "auto";
  setTheme(theme);
  $("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    kept.write(theme);
    setTheme(theme);
  });

  // Charts. A frame in a notebook takes the library from the document around it.
  if (!window.vegaEmbed) {
    try {
      (0, eval)(parent.document.getElementById("gramian-charts").textContent);
    } catch {
      const words = "Charts are drawn by what the first report of this notebook keeps: run its cell again, then this one. A saved report is complete.";
      document.querySelector("main").prepend(make("p", { class: "callout" }, words));
    }
  }
  const draw = async (element, name, spec, formatTooltip) => {
    const tooltip = { theme: "report", disableDefaultStyle: true, ...(formatTooltip ? { formatTooltip } : {}) };
    try {
      const drawn = await window.vegaEmbed(element, spec, { renderer: "svg", actions: false, config, tooltip });
      element.dataset.drawn = name;
      return drawn;
    } catch (error) {
      element.classList.add("failed");
      element.textContent = `This chart could not be drawn: ${error.message}`;
      console.error(error);
      return null;
    }
  };
  for (const element of document.querySelectorAll("[data-chart]"))
    draw(element, element.dataset.chart, JSON.parse(element.nextElementSibling.textContent));

  // A table that is wider than its box leaves out what can be looked up otherwise; where that is not enough it becomes a
  // list: a row is a heading with a line for each of its cells.
  const fitTables = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      const table = box.querySelector("table");
      const tooWide = () => box.clientWidth > 0 && box.scrollWidth > box.clientWidth + 1;
      table.classList.remove("compact", "stacked");
      if (!tooWide()) continue;
      table.classList.add("compact");
      if (!tooWide()) continue;
      const heads = [...table.tHead.querySelectorAll("th, td")].map((cell) => cell.textContent);
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, k) => { cell.dataset.label = heads[k] || ""; });
      table.classList.add("stacked");
    }
  };
  fitTables();
  addEventListener("resize", fitTables);
  document.addEventListener("toggle", fitTables, true);

  // Loadings: sorted by what a value does to the chosen feature, searched by column and level.
  const FIRST = 25;
  const state = { model: 0, sort: 0, query: "", all: false, picked: new Set() };
  const keyOf = (column, level) => `${column}\u0000${level === null ? "" : level}`;
  const showLoadings = () => {
    const table = $("loadings-table");
    if (!table) return;
    const model = loadings.models[state.model];
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const places = model.column.map((_, k) => k).filter((k) => {
      const text = `${model.column[k]} ${model.level[k] === null ? "" : model.level[k]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const effect = model.effects[state.sort];
    const picked = (k) => state.picked.has(keyOf(model.column[k], model.level[k]));
    places.sort((a, b) => picked(b) - picked(a) || Math.abs(effect[b]) - Math.abs(effect[a]) || a - b);
    const heads = ["column", "level", "share"].map((name) => make("th", { scope: "col", class: name === "share" ? "n" : null }, name));
    model.features.forEach((name, f) => {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", () => { state.sort = f; showLoadings(); });
      const sorted = f === state.sort;
      heads.push(make("th", { scope: "col", class: sorted ? "n" : "n other", "aria-sort": sorted ? "descending" : null }, button));
    });
    table.tHead.replaceChildren(make("tr", {}, ...heads));
    $("feature").replaceChildren(...model.features.map((name, f) => new Option(name, f, f === state.sort, f === state.sort)));
    const most = model.effects.map((values) => Math.max(...values.map(Math.abs), 1e-300));
    const shown = places.slice(0, state.all ? places.length : FIRST);
    table.tBodies[0].replaceChildren(...shown.map((k) => {
      const cells = model.features.map((_, f) => {
        const width = (50 * Math.abs(model.effects[f][k])) / most[f];
        const bar = make("i", { class: model.effects[f][k] < 0 ? "down" : "up", style: `width:${width.toFixed(1)}%` });
        return make("td", { class: f === state.sort ? "n" : "n other" }, figure(model.weights[f][k]), make("span", { class: "pm", "aria-hidden": "true" }, bar));
      });
      const level = make("td", {}, model.level[k] === null ? "" : model.level[k]);
      return make("tr", { class: picked(k) ? "picked" : null }, make("th", { scope: "row" }, model.column[k]), level,
        make("td", { class: "n" }, share(model.share[k])), ...cells);
    }));
    if (!shown.length) {
      const cell = make("td", { colspan: 3 + model.features.length }, "No column or level has this in its name.");
      table.tBodies[0].append(make("tr", { class: "missing-row" }, cell));
    }
    const cut = model.left_out ? ` (${model.left_out.toLocaleString("en")} with less effect are left out)` : "";
    const marked = state.picked.size ? "; marked: more frequent in the selection" : "";
    $("found").textContent = `${shown.length.toLocaleString("en")} of ${places.length.toLocaleString("en")}${cut}${marked}`;
    $("more").hidden = shown.length === places.length;
    $("more").textContent = `Show all ${places.length.toLocaleString("en")}`;
    fitTables();
  };
  if ($("loadings-table")) {
    $("search").addEventListener("input", () => { state.query = $("search").value; state.all = false; showLoadings(); });
    $("more").addEventListener("click", () => { state.all = true; showLoadings(); });
    $("feature").addEventListener("change", () => { state.sort = Number($("feature").value); showLoadings(); });
    if ($("model")) $("model").addEventListener("change", () => { state.model = Number($("model").value); state.sort = 0; showLoadings(); });
    showLoadings();
  }

  // The map of the rows
  if (!rows) return;
  const maps = json("rows-charts");
  const n = rows.positions.length;
  const feature = (name) => rows.features.find((found) => found.name === name).values;
  const cell = (column, i) => (column.kind === "level" ? column.levels[column.codes[i]] : column.values[i]);
  const shownCell = (column, i) => (column.kind === "number" ? figure(cell(column, i), 6) : cell(column, i));
  const tooltip = (value) => {
    const i = value.i;
    const lines = rows.columns.filter((column) => !column.derived).slice(0, 18)
      .map((column) => `<tr><td class="key">${safe(column.name)}</td><td class="value">${safe(shownCell(column, i) ?? "(missing)")}</td></tr>`);
    const extra = rows.colours.filter((colour) => colour.kind !== "classes" && !rows.columns.some((c) => c.name === colour.name))
      .map((colour) => `<tr><td class="key">${safe(colour.name)}</td><td class="value">${safe(figure(colour.values[i]))}</td></tr>`);
    return `<h2>row ${safe((rows.positions[i] + 1).toLocaleString("en"))}</h2><table><tbody>${lines.join("")}${extra.join("")}</tbody></table>`;
  };
  const weightsOn = (column, level, name) => {
    for (const model of loadings ? loadings.models : []) {
      const f = model.features.indexOf(name);
      if (f < 0) continue;
      const k = model.column.findIndex((c, j) => c === column && model.level[j] === level);
      if (k >= 0) return model.weights[f][k];
    }
    return null;
  };
  // What the selected rows have more often, or higher or lower, than all rows shown: by how many standard errors.
  const compare = (chosen) => {
    const found = [];
    const total = chosen.length;
    for (const column of rows.columns) {
      if (column.kind === "level") {
        const all = new Array(column.levels.length).fill(0);
        const here = new Array(column.levels.length).fill(0);
        for (let i = 0; i < n; i++) all[column.codes[i]] += 1;
        for (const i of chosen) here[column.codes[i]] += 1;
        column.levels.forEach((level, k) => {
          const usual = all[k] / n, now = here[k] / total;
          const z = (now - usual) / Math.sqrt(Math.max((usual * (1 - usual)) / total, 1e-12));
          if (now > usual && here[k] >= Math.min(3, total) && usual < 1)
            found.push({ z, column: column.name, level, now: share(now), usual: share(usual), bar: now });
        });
      } else if (column.kind === "number") {
        const seen = column.values.filter((v) => v !== null);
        const own = chosen.map((i) => column.values[i]).filter((v) => v !== null);
        if (own.length < 2 || seen.length < 3) continue;
        const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
        const centre = mean(seen), here = mean(own);
        const sd = Math.sqrt(mean(seen.map((v) => (v - centre) ** 2)));
        if (!(sd > 0)) continue;
        const z = (here - centre) / (sd / Math.sqrt(own.length));
        found.push({ z: Math.abs(z), column: column.name, level: null, now: figure(here), usual: figure(centre), bar: null,
          what: here > centre ? "mean, higher" : "mean, lower" });
      }
    }
    return found.filter(({ z }) => z > 2).sort((a, b) => b.z - a.z).slice(0, 9);
  };
  let current = null;
  const select = (chosen) => {
    const box = $("picked");
    $("zoom").disabled = chosen === null || chosen.length < 2;
    $("clear").disabled = chosen === null && !(current && current.zoomed);
    if (chosen === null || !chosen.length) {
      state.picked = new Set();
      box.replaceChildren(make("p", { class: "note" }, chosen === null ? "Nothing is selected." : "No row lies in this part."));
      showLoadings();
      return;
    }
    const view = rows.views[current.view];
    const found = compare(chosen);
    const part = `${chosen.length.toLocaleString("en")} of ${n.toLocaleString("en")} rows`;
    const head = make("tr", {}, ...["more than usual", "selected", "all"].map((name, k) => make("th", { scope: "col", class: k ? "n" : null }, name)));
    const lines = found.map((entry) => {
      const on = [view.x, view.y].map((name) => [name, weightsOn(entry.column, entry.level, name)]).filter(([, w]) => w !== null);
      const what = entry.what || on.map(([name, w]) => `${name} ${w > 0 ? "+" : "−"}${figure(Math.abs(w), 2)}`).join(", ");
      const label = entry.level === null ? entry.column : `${entry.column} = ${entry.level}`;
      return make("tr", {}, make("th", { scope: "row" }, label, what ? make("span", { class: "what" }, what) : null),
        make("td", { class: "n" }, entry.now), make("td", { class: "n" }, entry.usual));
    });
    const table = make("table", {}, make("caption", {}, "What the selected rows have more of"), make("thead", {}, head), make("tbody", {}, ...lines));
    const note = make("p", { class: "note" }, found.length ? part : `${part}; no value stands out among them.`);
    box.replaceChildren(note, ...(found.length ? [table] : []));
    state.picked = new Set(found.filter(({ level }) => level !== null).map(({ column, level }) => keyOf(column, level)));
    showLoadings();
  };
  const between = (value, [a, b]) => value >= Math.min(a, b) && value <= Math.max(a, b);
  const inside = (point, range) => between(point.x, range.x) && between(point.y, range.y);
  const showKey = (colour) => {
    const key = $("key");
    if (!colour) key.replaceChildren();
    else if (colour.kind !== "number") {
      const ranks = ["usual half", "50–80%", "80–95%", "95–99%", "99–99.9%", "oddest 0.1%"];
      const [names, shade] = colour.kind === "rank" ? [ranks, "s"] : [colour.levels.map((level) => `${colour.name} = ${level}`), "c"];
      const items = names.map((name, k) => make("li", {}, make("i", { style: `background:var(--${shade}${k % 10})`, "aria-hidden": "true" }), name));
      if (colour.kind === "rank") {
        items.unshift(make("li", {}, "rank by anomaly score:"));
        if (colour.ranks.includes(null)) items.push(make("li", {}, make("i", { class: "new", "aria-hidden": "true" }), "a value never seen"));
      }
      key.replaceChildren(make("ul", { class: "legend" }, ...items));
    }
    else {
      const values = colour.values.filter((v) => v !== null);
      const [low, high] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
      key.replaceChildren(make("p", { class: "note scale" }, colour.name, figure(low), make("i", { class: "ramp steps", "aria-hidden": "true" }), figure(high)));
    }
  };
  // The loadings shown are those of the axes in view, where a linear model made them.
  const followAxes = (view) => {
    const models = loadings ? loadings.models : [];
    const m = models.findIndex((model) => model.features.includes(view.x));
    if (m < 0) return;
    state.model = m;
    state.sort = models[m].features.indexOf(view.x);
    if ($("model")) $("model").value = String(m);
  };
  // A few rows far out would press all others into a corner: the map then begins with the others.
  const usualRange = (values) => {
    const sorted = values.filter((v) => v !== null).sort((a, b) => a - b);
    const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
    const [low, high] = [at(0.01), at(0.99)], margin = 0.25 * (high - low);
    const whole = sorted[sorted.length - 1] - sorted[0];
    return sorted.length > 50 && high > low && whole > 3 * (high - low) ? [low - margin, high + margin] : [-Infinity, Infinity];
  };
  const usual = () => {
    const view = rows.views[Number($("view").value)];
    const range = { x: usualRange(feature(view.x)), y: usualRange(feature(view.y)) };
    return [...range.x, ...range.y].some(Number.isFinite) ? range : null;
  };
  const showMap = async (zoom = null) => {
    const v = Number($("view").value);
    const c = $("colour") ? Number($("colour").value) : 0;
    const view = rows.views[v], colour = rows.colours[c] || null;
    const x = feature(view.x), y = feature(view.y);
    const tint = colour === null ? null : colour.codes || colour.ranks || colour.values;
    const unseen = (i) => colour !== null && colour.kind === "rank" && colour.ranks[i] === null;
    const points = rows.positions.map((_, i) => ({ i, x: x[i], y: y[i], c: tint === null ? 0 : unseen(i) ? 1 : tint[i], new: unseen(i) }));
    // Rare colours and high scores are drawn last, on top of the many; values never seen on top of all.
    points.sort((a, b) => a.new - b.new || a.c - b.c);
    showKey(colour);
    if (current && current.drawn) current.drawn.finalize();
    current = { view: v, drawn: null, range: null, zoomed: zoom !== null };
    followAxes(view);
    select(null);
    const kept = zoom === null ? points : points.filter((p) => inside(p, zoom));
    const spec = structuredClone(maps[c]);
    spec.encoding.x.title = view.x;
    spec.encoding.y.title = view.y;
    // Where points are only spread out for sight, figures on the axis would mean nothing.
    if (rows.features.find((found) => found.name === view.y).unmarked) spec.encoding.y.axis = { labels: false, grid: false };
    const drawn = await draw($("map"), `rows-${v}-${c}`, { ...spec, datasets: { rows: kept } }, tooltip);
    if (!drawn) return;
    current.drawn = drawn;
    let waiting = null;
    drawn.view.addSignalListener("brush", (_, range) => {
      if (waiting) cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => {
        waiting = null;
        current.range = range.x && range.y ? range : null;
        select(current.range === null ? null : kept.filter((p) => inside(p, range)).map((p) => p.i));
      });
    });
  };
  $("view").addEventListener("change", () => showMap(usual()));
  if ($("colour")) $("colour").addEventListener("change", () => showMap());
  $("zoom").addEventListener("click", () => showMap(current.range));
  $("clear").addEventListener("click", () => showMap());
  showMap(usual());

  // The section in view is marked in the contents.
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.getAttribute("href").slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      if (links.has(entry.target.id)) links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("main section")) watch.observe(section);
})();
