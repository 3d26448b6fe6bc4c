// The names of pods on the node of tests/node; the standard library is all it needs.
module steersman/tests/node/etcd

go 1.26.0
