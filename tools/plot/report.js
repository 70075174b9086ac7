/* report.js - sorting and filtering for the table of snapsim report. Without it the page says the
 * same: the controls are made here, so that none is there which does nothing. */
"use strict";
(function () {
    const table = document.getElementById("results");
    if (!table) return;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);

    /* Numbers by data-value, which is exact; a cell without one (failed, or none) goes last. */
    function compare(a, b, column, sign) {
        const x = a.cells[column], y = b.cells[column];
        const left = x.dataset.value, right = y.dataset.value;
        if (left !== undefined && right !== undefined)
            return sign * (Number(left) - Number(right));
        if (left !== undefined || right !== undefined)
            return left !== undefined ? -1 : 1;
        return sign * x.textContent.localeCompare(y.textContent, "en", { numeric: true });
    }

    function sort(header) {
        const column = header.cellIndex;
        const numbers = rows.some((row) => row.cells[column].dataset.value !== undefined);
        const usual = numbers && !header.classList.contains("name") ? "descending" : "ascending";
        const other = usual === "ascending" ? "descending" : "ascending";
        const direction = header.getAttribute("aria-sort") === usual ? other : usual;
        for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
        header.setAttribute("aria-sort", direction);
        const sign = direction === "ascending" ? 1 : -1;
        const order = rows.map((row, index) => ({ row, index }));
        order.sort((a, b) => compare(a.row, b.row, column, sign) || a.index - b.index);
        body.append(...order.map((entry) => entry.row));
    }

    for (const header of table.tHead.rows[0].cells) {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...header.childNodes);
        button.addEventListener("click", () => sort(header));
        header.append(button);
    }

    const box = document.createElement("p"), label = document.createElement("label");
    const input = document.createElement("input"), count = document.createElement("output");
    box.className = "filter";
    input.type = "search";
    input.id = "filter";
    input.placeholder = "turn 64GiB -branch";
    input.setAttribute("aria-describedby", "filter-count");
    count.id = "filter-count";
    label.append("Filter: ", input);
    box.append(label, count);

    /* Every word must begin a word of the row; with '-' in front, none may. */
    function filter() {
        const words = input.value.toLowerCase().split(/\s+/).filter((word) => word && word !== "-");
        let shown = 0;
        for (const row of rows) {
            const text = Array.from(row.cells, (cell) => cell.textContent.toLowerCase());
            const has = (word) => text.some((cell) =>
                cell.split(/[\s+]+/).some((part) => part.startsWith(word)));
            row.hidden = !words.every((word) =>
                word.startsWith("-") ? !has(word.slice(1)) : has(word));
            shown += row.hidden ? 0 : 1;
        }
        count.textContent = shown + " of " + rows.length;
    }
    input.addEventListener("input", filter);
    table.parentElement.before(box);
    filter();
})();
