//! YAML as Helm reads and writes it (YAML 1.1, goyaml v2).
