#!/usr/bin/env bash
# Runs the fuzz targets named as arguments, or all of them, one after the other: TIME seconds each. A crash, an
# input that takes ten seconds or a gibibyte, and a failed assertion are findings: they are kept in artifacts/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -as .rs fuzz_targets/*.rs)

for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    options=(-max_total_time="${TIME:-600}" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1)
    case $target in
    render) dictionary=template ;;
    *) dictionary=$target ;;
    esac
    # All code of ours is safe Rust: without a sanitizer it runs several times as often, and memory is what it is
    # in the product.
    cargo +nightly fuzz run --sanitizer none "$target" "corpus/$target" "seeds/$target" -- \
        "${options[@]}" -dict="dictionaries/$dictionary.dict"
done
