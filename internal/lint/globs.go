package lint

import (
	"go/ast"
	"strings"
)

// checkGlobCalls reports filepath.Glob and filepath.Match, the same functions of io/fs, and the package
// doublestar, except in tools and tests. A path that a user chooses may contain the characters of a pattern,
// such as edge[1]. filepath.Glob then finds nothing and returns no error.
func checkGlobCalls(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if row, _ := h.findRow(p.Dir); row.Mark == Tool {
			continue
		}
		for _, f := range p.productionFiles() {
			ast.Inspect(f.File, func(n ast.Node) bool {
				switch pkg, name := f.resolveSelector(n); {
				case (pkg == "path/filepath" || pkg == "io/fs") && (name == "Glob" || name == "Match" || name == "GlobFS"),
					strings.HasSuffix(pkg, "/doublestar"):
					r.reportNode(f, n, "%s: a path may have the characters of a pattern: list the directory, and compare names", name)
				}
				return true
			})
		}
	}
}
