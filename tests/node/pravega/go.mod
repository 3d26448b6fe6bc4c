// The programs of the pods of tests/node; the standard library is all they need.
module steersman/tests/node/pravega

go 1.26.0
