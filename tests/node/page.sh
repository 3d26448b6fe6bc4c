# The page as a Deployment, as docs/how-to/ui.md has it: who brings a token sees what that may see. To be sourced by test.sh.

look_at_page() {
    local account
    awk '/^```/ { on = /yaml/; next } on' "$here/../../docs/how-to/ui.md" |
        sed "s|image: .*|image: registry.test/$application:v1|; s/namespace: visitors-system/namespace: $namespace/" |
        kubectl apply -f - >/dev/null
    kubectl wait --namespace "$namespace" --for=condition=Available deployment/releases --timeout=60s >/dev/null
    for account in looks stranger; do
        kubectl create serviceaccount --namespace "$site" "$account" >/dev/null
        kubectl create token --namespace "$site" "$account" >"$work/token-of-$account"
    done
    kubectl create clusterrolebinding museum-looks --clusterrole=cluster-admin --serviceaccount="$site:looks" >/dev/null
    echo nonsense >"$work/token-of-nobody"
    until_true 30 "the page shows the site to who may see it" list_of looks "href=\"[^\"]*$site"
    until_true 30 "the page tells a stranger why it shows nothing" list_of stranger 'forbidden'
    ! list_of stranger "href=\"[^\"]*$site" || fail "the page shows the site to a stranger"
    ! list_of nobody '<table' || fail "the page shows something to nobody"
    look_at_logs
    kubectl delete clusterrolebinding museum-looks >/dev/null
    kubectl delete --namespace "$site" serviceaccount looks stranger >/dev/null
    kubectl delete --namespace "$namespace" deployment/releases >/dev/null
    say "the page runs in a pod, shows the site to who may see it alone, and what a container of it writes as it does"
}

# list_of ACCOUNT TEXT: whether the first page says that to who has its token
list_of() {
    local list
    list=$(page_of "$1" /) && grep -q "$2" <<<"$list"
}

# page_of ACCOUNT PATH: what the page has there for who has its token
page_of() {
    "$work/get" "http://$(page_address):8080$2" "Host: releases.example.com" \
        "Authorization: Bearer $(cat "$work/token-of-$1")" 2>"$work/page.log"
}

page_address() {
    kubectl get pods --namespace "$namespace" -l app=releases -o jsonpath='{.items[0].status.podIP}'
}

# The backend writes its password, markup, and what it is asked for. No secret is seen, no markup is any, what is written
# meanwhile comes without being asked for, and what a container wrote that is gone is found.
look_at_logs() {
    local pod address password path text
    pod=$(kubectl get pods --namespace "$site" -l app.kubernetes.io/component=backend -o jsonpath='{.items[0].metadata.name}')
    address=$(kubectl get pod --namespace "$site" "$pod" -o jsonpath='{.status.podIP}')
    password=$(kubectl get secret --namespace "$site" "$site-mysql" -o jsonpath='{.data.mysql-password}' | base64 -d)
    [ -n "$password" ] || fail "the site has no password"
    path="/releases/visitorssites.example.com/$site/$site/logs?namespace=$site&pod=$pod&container=backend&former="
    until_true 20 "the page shows what the container has written" logs_say "${path}false" 'listening, as'
    text=$(page_of looks "${path}false")
    grep -q 'script&#62;\|script&gt;' <<<"$text" || fail "the page lacks the markup as text: $text"
    ! grep -qF "$password" <<<"$text" || fail "the page shows the password"
    grep -qF "$password" <<<"$(kubectl logs --namespace "$site" "$pod" --container backend)" || fail "the container has not written its password"
    ! grep -qF '<script>alert' <<<"$text" || fail "the page has markup of a container: $text"
    ! grep -q $'\e' <<<"$text" || fail "the page has control characters of a container"

    exec 3<>"/dev/tcp/$(page_address)/8080"
    printf 'GET %s HTTP/1.1\r\nHost: releases.example.com\r\nAuthorization: Bearer %s\r\n\r\n' \
        "${path/logs?/logs/events?}false" "$(cat "$work/token-of-looks")" >&3
    cat <&3 >"$work/log-events" &
    local reader=$!
    "$work/get" "http://$address:8080/api/?meanwhile" >/dev/null
    until_true 20 "what is written meanwhile comes by itself" grep -q 'asked for meanwhile' "$work/log-events"
    kill "$reader"
    exec 3>&-
    ! grep -qF "$password" "$work/log-events" || fail "the stream shows the password"

    ctr task kill --signal SIGKILL \
        "$(kubectl get pod --namespace "$site" "$pod" -o jsonpath='{.status.containerStatuses[0].containerID}' | sed 's|.*//||')"
    until_true 60 "the page has what the former container has written" logs_say "${path}true" 'asked for meanwhile'
    kubectl wait --namespace "$site" --for=condition=Ready "visitorssite/$site" "pod/$pod" --timeout=60s >/dev/null
    text=$(page_of looks "${path}false")
    ! grep -q 'asked for meanwhile' <<<"$text" || fail "the page mixes two containers: $text"
}

# logs_say PATH TEXT: whether that page says that
logs_say() {
    local text
    text=$(page_of looks "$1") && grep -q "$2" <<<"$text"
}
