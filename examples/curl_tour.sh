#!/bin/sh
# A tour of the REST API with nothing but curl.
#
#   SCREENER_KEY=ps_live_... sh curl_tour.sh [chart.png]
#
# SCREENER_URL is the address of the service (default http://127.0.0.1:8000). Without SCREENER_KEY
# the tour ends after the part that needs none. With it, the account tracks the symbol that is shown
# from then on. The one file it writes is the chart it saves.
# Exit codes: 0 done, 1 the service refused, 2 no service there.
set -eu

base="${SCREENER_URL:-http://127.0.0.1:8000}/api/v1"
chart="${1:-chart.png}"
body="$(mktemp)"
trap 'rm -f "$body"' EXIT

# step TITLE: what a person is about to see.
step() {
    printf '\n== %s\n' "$1"
}

# pretty [LINES]: the last answer, indented where python3 is there, cut after LINES.
pretty() {
    if command -v python3 >/dev/null; then
        python3 -m json.tool "$body"
    else
        cat "$body"
        echo
    fi | sed -n "1,${1:-\$}p"
    if [ $# -gt 0 ]; then
        echo "(cut after $1 lines)"
    fi
}

# ask PATH [CURL OPTION...]: one request; its answer is left in $body, its status in $status.
ask() {
    path="$1"
    shift
    printf '$ curl "%s"' "$base$path"
    for option in "$@"; do
        case "$option" in
            Authorization:*) printf ' "Authorization: Bearer $SCREENER_KEY"' ;;
            -*) printf ' %s' "$option" ;;
            *) printf " '%s'" "$option" ;;
        esac
    done
    echo
    status="$(curl -sS -o "$body" -w '%{http_code}' "$@" "$base$path")" || exit 2
}

# get PATH [CURL OPTION...]: a request that should succeed; a refusal ends the tour.
get() {
    ask "$@"
    case "$status" in
        2*) ;;
        *)
            printf 'curl_tour: %s %s\n' "$status" "$(cat "$body")" >&2
            exit 1
            ;;
    esac
}

# keyed PATH [CURL OPTION...]: the same, with the key.
keyed() {
    path_of_key="$1"
    shift
    get "$path_of_key" -H "Authorization: Bearer $SCREENER_KEY" "$@"
}

# first_setup_id: the id of the first setup in the last answer.
first_setup_id() {
    tr ',' '\n' <"$body" | sed -n 's/.*"setup_id":"\([^"]*\)".*/\1/p' | sed -n 1p
}

# symbol_with PATTERN: the first symbol of the last answer whose entry matches.
symbol_with() {
    tr '{' '\n' <"$body" | sed -n "/$1/s/.*\"symbol\":\"\([^\"]*\)\".*/\1/p" | sed -n 1p
}

step "Without a key: the demo symbols, and how many setups each has tonight"
get /demo
symbol="$(symbol_with '"setups":[1-9]')"
if [ -z "$symbol" ]; then
    echo "None of them has a setup tonight."
fi
covered="${symbol:-$(symbol_with '"covered":true')}"
demo="${covered:-$(symbol_with '"symbol"')}"

step "Without a key: one demo symbol, its two lines, its plan and how the pattern did before"
get "/demo/$demo"
pretty

step "Without a key: how one pattern family did; /families has all five"
get /families/triangle/stats
pretty

if [ -z "${SCREENER_KEY:-}" ]; then
    printf '\nSet SCREENER_KEY to go on: the rest needs a key.\n'
    exit 0
fi

step "With your key: your plan, your limits, and where the docs and the MCP endpoint are"
keyed /me
pretty

step "The best setup of the market that trades above \$10, forming or with its trade running"
keyed /scan -G \
    --data-urlencode 'filters=[{"kind":"price","op":">","value":10}]' \
    --data-urlencode status=all --data-urlencode limit=1
pretty

symbol="${symbol:-$(symbol_with '"symbol":')}"
symbol="${symbol:-$covered}"
if [ -z "$symbol" ]; then
    printf '\nNo symbol has a setup tonight, and the night covers no demo symbol.\n'
    exit 0
fi

step "The tickers you track from now on, in your order, and how many you may track"
keyed /tickers -X PATCH -H 'Content-Type: application/json' --data "{\"add\":[\"$symbol\"]}"
pretty

step "The current setups of one tracked ticker, in the shape of the demo above"
keyed "/tickers/$symbol/patterns"
setup_id="$(first_setup_id)"
pretty 20

step "How its last two resolved setups ended: a win or a loss, and its R multiple"
keyed "/tickers/$symbol/history" -G --data-urlencode outcome=resolved --data-urlencode limit=2
pretty

step "The chart of that setup, saved as $chart"
if [ -n "$setup_id" ]; then
    keyed "/tickers/$symbol/chart.png" -G --data-urlencode "setup_id=$setup_id"
    cp "$body" "$chart"
    echo "$chart: $(wc -c <"$chart" | tr -d ' ') bytes of PNG"
else
    echo "Nothing forms on $symbol tonight, so there is nothing to draw."
fi

step "An error on purpose: a limit that is not a number"
ask /scan -H "Authorization: Bearer $SCREENER_KEY" -G --data-urlencode limit=many
echo "HTTP $status"
pretty
echo "Branch on \`error\`; \`message\` says what is wrong and may change, \`fix\` what to do next."
