package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// checkYAMLDecoders reports imports of YAML packages, and uses of Kubernetes decoders that accept YAML, outside
// internal/document and tools. Only internal/document bounds the size: aliases can expand a YAML text to a
// million times its size.
func checkYAMLDecoders(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if row, _ := h.findRow(p.Dir); p.Dir == h.Documents || row.Mark == Tool {
			continue
		}
		for _, f := range p.productionFiles() {
			for _, spec := range f.Imports {
				if isYAMLPackage(importPath(spec)) {
					r.reportNode(f, spec, "imports %s, which reads YAML without a bound: use %s", importPath(spec), h.Documents)
				}
			}
			ast.Inspect(f.File, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(readers, s.Sel.Name) {
					r.reportNode(f, n, "%s reads YAML without a bound: convert a document with %s, and decode JSON", s.Sel.Name, h.Documents)
				}
				return true
			})
		}
	}
}

// isYAMLPackage reports whether an element of an import path contains "yaml" before its first dot, or is
// "go.yaml.in".
func isYAMLPackage(imported string) bool {
	return slices.ContainsFunc(strings.Split(imported, "/"), func(element string) bool {
		name, _, _ := strings.Cut(element, ".")
		return strings.Contains(name, "yaml") || element == "go.yaml.in"
	})
}

// readers are the functions and methods of Kubernetes' libraries that read YAML besides other forms.
var readers = []string{"UniversalDeserializer", "UniversalDecoder", "NewYAMLSerializer", "NewYAMLOrJSONDecoder", "NewYAMLToJSONDecoder", "NewYAMLReader"}
