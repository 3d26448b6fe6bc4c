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
    kubectl delete clusterrolebinding museum-looks >/dev/null
    kubectl delete --namespace "$site" serviceaccount looks stranger >/dev/null
    kubectl delete --namespace "$namespace" deployment/releases >/dev/null
    say "the page runs in a pod, and shows the site to who may see it alone"
}

# list_of ACCOUNT TEXT: whether the first page says that to who has its token
list_of() {
    local address list
    address=$(kubectl get pods --namespace "$namespace" -l app=releases -o jsonpath='{.items[0].status.podIP}')
    list=$("$work/get" "http://$address:8080/" "Host: releases.example.com" \
        "Authorization: Bearer $(cat "$work/token-of-$1")" 2>"$work/page.log") && grep -q "$2" <<<"$list"
}
