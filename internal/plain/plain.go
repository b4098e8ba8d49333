package plain

import (
	"regexp"
	"strings"
)

// packages are the names by which errors of this module are prefixed.
var packages = []string{
	"check", "checkpoint", "contain", "cri", "debug", "faulty", "gc", "grpccheck", "hookhttp", "images", "keylock", "lifecycle", "logfile", "logfiles",
	"manifest", "memory", "node", "objects", "osfile", "inmemory", "pleg", "podmanager", "podsync", "poduid", "podworkers", "prober", "registry", "runtime",
	"source", "status", "streaming", "syncloop", "executor", "volumes",
}

// prefixes are names of packages where a sentence, or a part of one after a colon,
// begins.
var prefixes = regexp.MustCompile(`(^|\n|: |; |\()(?:(?:` + strings.Join(packages, "|") + `): )+`)

// Text is a text without the prefixes of the errors in it.
func Text(s string) string { return prefixes.ReplaceAllString(s, "$1") }
