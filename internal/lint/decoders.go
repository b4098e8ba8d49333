package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// decoders wants every document that enters to be read by the package that bounds it: a text of YAML
// may become a million times its size when its aliases are written out.
func decoders(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if row, _ := h.row(p.Dir); p.Dir == h.Documents || row.Mark == Tool {
			continue
		}
		for _, f := range p.sources() {
			for _, spec := range f.Imports {
				if isYAML(importPath(spec)) {
					r.at(f, spec, "imports %s, which reads YAML without a bound: use %s", importPath(spec), h.Documents)
				}
			}
			ast.Inspect(f.File, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(readers, s.Sel.Name) {
					r.at(f, n, "%s reads YAML without a bound: convert a document with %s, and decode JSON", s.Sel.Name, h.Documents)
				}
				return true
			})
		}
	}
}

// isYAML reports whether a package reads YAML: its path has that word as an element, with or without
// a version.
func isYAML(imported string) bool {
	return slices.ContainsFunc(strings.Split(imported, "/"), func(element string) bool {
		name, _, _ := strings.Cut(element, ".")
		return strings.Contains(name, "yaml") || element == "go.yaml.in"
	})
}

// readers are the functions and methods of Kubernetes' libraries that read YAML besides other forms.
var readers = []string{"UniversalDeserializer", "UniversalDecoder", "NewYAMLSerializer", "NewYAMLOrJSONDecoder", "NewYAMLToJSONDecoder", "NewYAMLReader"}
