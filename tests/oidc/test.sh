#!/usr/bin/env bash
# `make test-oidc`: the page behind OAuth2 Proxy, as docs/how-to/ui.md has it, with a provider of npm (`oidc-provider`) and an API
# server that takes the same tokens. Two people log in as a browser does, and each sees what the API server lets them see.
#
# It builds what is missing (etcd and kube-apiserver, the proxy, the program), and needs node, npm, openssl, curl and python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/tests/oidc

say() { printf 'oidc: %s\n' "$*" >&2; }
fail() { say "FAILED: $*"; exit 1; }

for program in node npm openssl curl python3; do
    command -v "$program" >/dev/null || fail "$program is not installed"
done
assets=$(build/control-plane.sh | tail -n 1)
proxy=$(build/control-plane.sh --of oauth2-proxy | tail -n 1)/oauth2-proxy
cargo build --locked --quiet --bin steersman
steersman=${CARGO_TARGET_DIR:-$PWD/target}/debug/steersman
kubectl=$(command -v kubectl || echo "$assets/kubectl")

work=$(mktemp -d "${TMPDIR:-/tmp}/steersman-oidc-XXXXXX")
started=()
clean_up() {
    # Watches that are open keep a server from ending in its own time.
    kill -KILL "${started[@]}" 2>/dev/null || true
    wait "${started[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
cd "$work"

free_ports() {
    python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(6)]
print(*(one.getsockname()[1] for one in held))'
}
read -r etcd_port peer_port api_port issuer_port page_port proxy_port < <(free_ports)
issuer=https://localhost:$issuer_port
front=http://127.0.0.1:$proxy_port

# start NAME PROGRAM…: its output is in NAME.log
start() {
    local name=$1
    shift
    "$@" >"$name.log" 2>&1 &
    started+=($!)
}

# until_ok WHAT PROGRAM…
until_ok() {
    local what=$1 attempt
    shift
    for attempt in $(seq 600); do
        ! "$@" >last.log 2>&1 || return 0
        sleep 0.2
    done
    tail -n 5 ./*.log >&2
    fail "$what does not come"
}

# certificate NAME SUBJECT [NAMES]
certificate() {
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -subj "$2" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out "$1.crt" \
        -extfile <(printf 'subjectAltName=%s' "${3:-DNS:none}")
}
{
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 1 -subj /CN=test
    certificate server /CN=server DNS:localhost,IP:127.0.0.1,IP:10.0.0.1
    certificate admin /O=system:masters/CN=admin
    openssl genrsa -out accounts.key 2048
} 2>openssl.log

say "starting the provider, the API server, the page and the proxy"
mkdir provider
cp "$here"/package*.json "$here/provider.mjs" provider
(cd provider && npm ci --silent --no-audit --no-fund)
start provider node provider/provider.mjs "$issuer_port" server.key server.crt "$front/oauth2/callback"
until_ok "the provider" curl -sSf --cacert ca.crt "$issuer/.well-known/openid-configuration"

start etcd "$assets/etcd" --data-dir=etcd --listen-client-urls="http://127.0.0.1:$etcd_port" \
    --advertise-client-urls="http://127.0.0.1:$etcd_port" --listen-peer-urls="http://127.0.0.1:$peer_port"
start kube-apiserver "$assets/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" --bind-address=127.0.0.1 \
    --advertise-address=127.0.0.1 --secure-port="$api_port" --tls-cert-file=server.crt --tls-private-key-file=server.key \
    --client-ca-file=ca.crt --authorization-mode=RBAC --service-account-issuer=https://accounts.test \
    --service-account-key-file=accounts.key --service-account-signing-key-file=accounts.key --cert-dir=. \
    --service-cluster-ip-range=10.0.0.0/16 --disable-admission-plugins=ServiceAccount --endpoint-reconciler-type=none \
    --oidc-issuer-url="$issuer" --oidc-ca-file=ca.crt --oidc-client-id=releases --oidc-username-claim=email

# kubeconfig FILE USER: a user's part of it, as JSON
kubeconfig() {
    cat >"$1" <<END
{"apiVersion": "v1", "kind": "Config", "current-context": "test",
 "clusters": [{"name": "test", "cluster": {"server": "https://127.0.0.1:$api_port", "certificate-authority": "$work/ca.crt"}}],
 "users": [{"name": "test", "user": $2}],
 "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}
END
}
kubeconfig admin.kubeconfig "{\"client-certificate\": \"$work/admin.crt\", \"client-key\": \"$work/admin.key\"}"
kubeconfig page.kubeconfig '{}'
admin() { "$kubectl" --kubeconfig admin.kubeconfig "$@"; }
until_ok "the API server" admin get --raw /readyz

mkdir -p shop/templates
printf 'apiVersion: v2\nname: shop\nversion: 1.0.0\n' >shop/Chart.yaml
printf -- '- {group: test.example.com, version: v1, kind: Shop, chart: shop}\n' >watches.yaml
"$steersman" crd --watches-file watches.yaml >definition.yaml
admin apply -f definition.yaml >/dev/null
admin wait --for=condition=Established --all crd >/dev/null
for pair in anna:first ben:second; do
    person=${pair%:*} place=${pair#*:}
    admin create namespace "$place" >/dev/null
    printf '{"apiVersion": "test.example.com/v1", "kind": "Shop", "metadata": {"name": "of-%s"}}' "$person" |
        admin -n "$place" apply -f - >/dev/null
    admin -n "$place" create role keeper --verb=get,list,watch,patch --resource=shops.test.example.com,secrets >/dev/null
    admin -n "$place" create rolebinding keeper --role=keeper --user="$person@example.com" >/dev/null
done

start page "$steersman" ui --login token --address "127.0.0.1:$page_port" --host "127.0.0.1:$proxy_port" --namespace first,second \
    --kubeconfig page.kubeconfig
start proxy "$proxy" --provider=oidc --oidc-issuer-url="$issuer" --provider-ca-file=ca.crt --client-id=releases \
    --client-secret=of-the-proxy --scope="openid email profile" --email-domain=example.com --redirect-url="$front/oauth2/callback" \
    --upstream="http://127.0.0.1:$page_port" --pass-authorization-header --cookie-refresh=10s --flush-interval=200ms \
    --http-address="127.0.0.1:$proxy_port" --cookie-secret="$(openssl rand -hex 16)" --cookie-secure=false --skip-provider-button
until_ok "the page" curl -sSf "http://127.0.0.1:$page_port/healthz"
until_ok "the proxy" curl -sSf "$front/ping"

# browse PERSON ARGUMENT…: a request with the cookies of a person, wherever it leads
browse() {
    curl -sSL --max-time 60 --cacert ca.crt --cookie "$1.jar" --cookie-jar "$1.jar" "${@:2}"
}

# log_in PERSON: by the forms of the provider: who it is, and that the proxy may know
log_in() {
    local person=$1 page form action
    page=$(browse "$person" "$front/")
    for form in "prompt=login&login=$person&password=any" prompt=consent; do
        action=$(grep -oE 'action="[^"]+"' <<<"$page" | head -n 1 | cut -d '"' -f 2)
        [ -n "$action" ] || fail "no form of the provider: $page"
        page=$(browse "$person" --data "$form" "$action")
    done
}

# sees PERSON OWN OTHER'S: waits until the list has the one, and it does not have the other
sees() {
    local shown='' attempt
    for attempt in $(seq 150); do
        shown=$(browse "$1" "$front/")
        ! grep -q "Shop $2" <<<"$shown" || break
        sleep 0.2
    done
    grep -q "Shop $2" <<<"$shown" || fail "$1 does not see $2: $shown"
    ! grep -q "Shop $3" <<<"$shown" || fail "$1 sees $3: $shown"
    say "$1 sees $2, and not $3"
}
log_in anna
log_in ben
sees anna of-anna of-ben
sees ben of-ben of-anna

# What is another's is none for them, and an action has the rights of who confirms it.
release() { echo "$front/releases/shops.test.example.com/$1/$2"; }
browse anna "$(release second of-ben)" | grep -q 'forbidden: User .*anna@example.com' || fail "anna reads what is ben's"
form=$(browse anna "$(release first of-anna)/actions/pause?")
value() { grep -oE "name=\"$1\" value=\"[^\"]*\"" <<<"$form" | head -n 1 | cut -d '"' -f 4; }
for path in "$(release second of-ben)" "$(release first of-anna)"; do
    browse anna --output done.html -H "Origin: $front" --data "token=$(value token)&shown=$(value shown)" "$path/actions/pause?"
done
paused() { admin -n "$1" get shops.test.example.com "$2" -o 'jsonpath={.metadata.annotations.steersman\.dev/pause}'; }
[ "$(paused first of-anna)" = true ] || fail "anna can't pause what is hers: $(cat done.html)"
[ -z "$(paused second of-ben)" ] || fail "anna has paused what is ben's"
say "anna has paused of-anna, and not of-ben"

# The first token is over by now, and the proxy has another one.
sleep 25
sees anna of-anna of-ben

# Past the proxy, and with a token that is none.
code() { curl -sS --max-time 60 -o body.html -w '%{http_code}' -H "Host: 127.0.0.1:$proxy_port" "$@" "http://127.0.0.1:$page_port/"; }
[ "$(code)" != 200 ] || fail "who comes past the proxy without a token is let in"
forged=$(printf '{"alg":"none"}' | base64 -w 0 | tr -d =).$(printf '{"iss":"%s","aud":"releases","email":"anna@example.com","exp":9999999999}' "$issuer" |
    base64 -w 0 | tr -d =).
code -H "Authorization: Bearer $forged" >/dev/null
! grep -q 'Shop of-' body.html || fail "a token that nobody has signed is taken"
say "nobody gets in without a token of the provider"
say "all of it holds"
