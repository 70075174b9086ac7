# manifest.sh - the parts of a manifest.txt, which says where figures come from.

manifest_program() { # snapsim
    echo "program   $("$1" --version)"
}

# From results as JSON lines on stdin.
manifest_traces() {
    echo "traces, by sha256 of their content:"
    sed -n 's/.*"trace":{"name":"\([^"]*\)","sha256":"\([^"]*\)".*/\2  \1/p' | sort -u
}
