# What test scripts have in common: . "$ROOT/tests/expect.sh"
fail() {
    echo "$(basename "$0" .sh): $*"
    exit 1
}
status() { # status EXPECTED PATTERN COMMAND...: PATTERN must be in its stderr
    expected=$1 words=$2
    shift 2
    found=0
    "$@" >/dev/null 2>message || found=$?
    [ "$found" = "$expected" ] || fail "$*: status $found, not $expected"
    grep -q -- "$words" message || fail "$*: $(cat message)"
}
fails() { # fails EXPECTED WORDS ARGUMENTS...: snapsim prints nothing, and WORDS on stderr
    status=$1 words=$2
    shift 2
    code=0
    "$SNAPSIM" "$@" >stdout 2>stderr || code=$?
    if [ "$code" != "$status" ] || ! grep -qF -- "$words" stderr || [ -s stdout ]; then
        fail "snapsim $*: status $code, $(cat stderr stdout)"
    fi
    if grep -qv '^snapsim: ' stderr; then
        fail "snapsim $*: stderr without prefix: $(cat stderr)"
    fi
}
