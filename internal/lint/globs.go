package lint

import (
	"go/ast"
	"strings"
)

// globs wants no pattern matching on paths. A path that people choose may have the characters of a
// pattern, as edge[1] has: then filepath.Glob finds nothing, and says so by no error. path.Match is
// for names that are no paths, such as names of registries.
func globs(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if row, _ := h.row(p.Dir); row.Mark == Tool {
			continue
		}
		for _, f := range p.sources() {
			ast.Inspect(f.File, func(n ast.Node) bool {
				switch pkg, name := f.selected(n); {
				case (pkg == "path/filepath" || pkg == "io/fs") && (name == "Glob" || name == "Match" || name == "GlobFS"),
					strings.HasSuffix(pkg, "/doublestar"):
					r.at(f, n, "%s: a path may have the characters of a pattern: list the directory, and compare names", name)
				}
				return true
			})
		}
	}
}
