#!/bin/sh
# The page of `snapsim report` in a real browser: it sorts, it filters, it reads the same without
# JavaScript, it has no error, and asks nobody for anything. Run as the scripts of tests/cli are.
#
# Chromium prints the page as it is after its scripts (--dump-dom), what they say on the console, and
# a log of every request. The clicks are made by a script behind the page's own, in a copy.
set -eu
. "$ROOT/tests/expect.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "chromium is not there"
    exit 77
fi
if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not there"
    exit 77
fi
export HOME="$PWD"

# browse PAGE: the page afterwards, in PAGE.dom; console and requests in PAGE.log and PAGE.net. The
# browser has wishes of its own (updates, accounts): a proxy that is not there keeps all inside.
browse() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-background-networking \
        --disable-component-update --disable-sync --no-first-run --disable-extensions \
        --disable-default-apps --disable-dev-shm-usage --proxy-server=http://127.0.0.1:1 \
        --proxy-bypass-list='<-loopback>' --host-resolver-rules='MAP * ~NOTFOUND' \
        --user-data-dir="$PWD/profile" --enable-logging=stderr --log-net-log="$PWD/$1.net" \
        --dump-dom "file://$PWD/$1" >"$1.dom" 2>"$1.log" || fail "$browser failed on $1"
}
quiet() {
    if grep 'CONSOLE' "$1.log"; then
        fail "$1: something on the console"
    fi
}

cat >sweep.json <<'SWEEP'
{"name": "browser <&> test", "trace": {"conversations": 40},
 "placement": ["none", "turn", "turn+branch", "fixed:4096"], "capacity": ["32GiB", "256GiB", "1TiB"]}
SWEEP
"$SNAPSIM" sweep sweep.json --output out 2>message || fail "sweep: $(cat message)"
"$SNAPSIM" report out -o report.html

# 1. What is there without any script.
grep -q '<h1>browser &lt;&amp;&gt; test</h1>' report.html || fail "the name is not escaped"
[ "$(grep -c '<figure ' report.html)" -eq 3 ] || fail "three figures were expected"
[ "$(grep -c '<svg ' report.html)" -eq 3 ] || fail "three pictures were expected"
[ "$(grep -c '^<tr><td' report.html)" -eq 12 ] || fail "twelve rows were expected"
if grep -Eo '(src|href)="[^"#][^"]*"|url\([^#)]|@import|<link' report.html; then
    fail "the page refers to something outside"
fi
grep -q "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\"" \
    report.html || fail "nothing forbids requests"
tr ' ' '\n' <report.html | sed -n "s/^id=[\"']\([^\"']*\).*/\1/p" | sort | uniq -d >twice
[ ! -s twice ] || fail "an id appears twice: $(head -n 3 twice)"

# 2. As it is: the script makes the controls.
browse report.html
quiet report.html
grep -q 'id="filter"' report.html.dom || fail "there is no filter"
grep -q '12 of 12' report.html.dom || fail "the filter does not count"
[ "$(grep -o '<button' report.html.dom | wc -l)" -ge 3 ] || fail "headers are not buttons"

# 3. Clicked: by hit ratio down and up, by capacity (a number, not a word), then filtered.
cat >clicks.js <<'CLICKS'
<script>
const results = document.getElementById("results"), said = [];
const column = (name) => Array.from(results.tHead.rows[0].cells)
    .findIndex((cell) => cell.textContent.trim() === name);
const click = (name) => results.tHead.rows[0].cells[column(name)].querySelector("button").click();
const shown = (name) => Array.from(results.tBodies[0].rows).filter((row) => !row.hidden)
    .map((row) => row.cells[column(name)].textContent);
const type = (text) => {
    const input = document.getElementById("filter");
    input.value = text;
    input.dispatchEvent(new Event("input"));
};
const sorted = (list, sign) => list.every((x, i) => i === 0 || sign * (list[i - 1] - x) <= 0);
const check = (what, good) => said.push((good ? "ok " : "NOT ok ") + what);
click("hit_ratio");
check("descending", sorted(shown("hit_ratio").map(Number), -1));
click("hit_ratio");
check("ascending", sorted(shown("hit_ratio").map(Number), 1));
check("aria-sort", results.tHead.rows[0].cells[column("hit_ratio")].ariaSort === "ascending");
click("capacity");
check("capacities", shown("capacity").join() ===
    Array(4).fill("32GiB").concat(Array(4).fill("256GiB"), Array(4).fill("1TiB")).join());
type("turn");
check("a word", shown("placement").length === 6);
type("turn -branch 1tib");
check("three words", shown("placement").join() === "turn");
check("count", document.getElementById("filter-count").textContent === "1 of 12");
type("");
check("all again", shown("placement").length === 12);
const output = document.createElement("pre");
output.id = "said";
output.textContent = said.join(";");
document.body.append(output);
</script>
CLICKS
cat report.html clicks.js >clicked.html
browse clicked.html
quiet clicked.html
sed -n 's/.*<pre id="said">\([^<]*\).*/\1/p' clicked.html.dom | tr ';' '\n' >said
[ "$(grep -c '^ok ' said)" -eq 8 ] || fail "clicks: $(tr '\n' ';' <said)"

# 4. Where scripts are forbidden: nothing is missing, and there is no control that does nothing.
sed "s/script-src 'unsafe-inline'/script-src 'none'/" report.html >bare.html
browse bare.html
grep -q 'CONSOLE.*script' bare.html.log || fail "the browser did not forbid scripts"
grep -q 'id="filter"' bare.html.dom && fail "a filter without scripts"
[ "$(grep -c '^<tr><td' bare.html.dom)" -eq 12 ] || fail "the table needs JavaScript"

# 5. No request but for the page itself; and one from a page that makes some, to see that the log of
# requests and the console would tell.
asked() {
    grep 'site=file://' "$1" | grep -o '"url":"[^"]*"' | grep -v '"url":"file:' || true
}
[ -z "$(asked report.html.net)" ] || fail "requests: $(asked report.html.net | head -n 3)"
[ -z "$(asked clicked.html.net)" ] || fail "requests: $(asked clicked.html.net | head -n 3)"
echo '<!DOCTYPE html><img src="http://snapsim.invalid/x.png"><script>nothing()</script>' >canary.html
browse canary.html
asked canary.html.net | grep -q 'snapsim.invalid' || fail "the log of requests tells nothing"
grep -q 'CONSOLE' canary.html.log || fail "the console tells nothing"
