package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"slices"
	"strings"
)

// Tier says what an importer may expect of a package's exported names.
type Tier string

// The tiers.
const (
	// Stable names change only after a release that marks them as deprecated.
	Stable Tier = "stable"
	// Beta names may change in any minor release. The change log says how.
	Beta Tier = "beta"
	// Experimental names may change or go in any release.
	Experimental Tier = "experimental"
)

// API returns the exported API of a module as text, one name in each line, in order. It contains the packages that
// another module can import: no programs, and nothing below internal.
func API(m *Module, tiers map[string]Tier) string {
	var b strings.Builder
	for _, p := range m.Packages {
		if !isImportable(p) {
			continue
		}
		fmt.Fprintf(&b, "package %s %s\n", p.Dir, tiers[p.Dir])
		for _, line := range exportedAPI(m, p) {
			fmt.Fprintf(&b, "%s: %s\n", p.Dir, line)
		}
	}
	return b.String()
}

// isImportable reports whether another module can import the package.
func isImportable(p *Package) bool {
	return p.Name != "" && p.Name != "main" && !slices.Contains(strings.Split(p.Dir, "/"), "internal")
}

// exportedAPI returns one line of source text for each exported name that the production files of a package
// declare. The lines are sorted and without duplicates.
func exportedAPI(m *Module, p *Package) []string {
	var lines []string
	for _, f := range p.productionFiles() {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && ast.IsExported(receiverTypeName(d)) {
					lines = append(lines, m.formatNode(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}))
				}
			case *ast.GenDecl:
				lines = append(lines, exportedAPIOfDecl(m, d)...)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines) // The same for several systems.
}

// exportedAPIOfDecl returns one line for each exported type, field, interface method, constant and variable
// that a declaration declares.
func exportedAPIOfDecl(m *Module, d *ast.GenDecl) []string {
	var lines []string
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				lines = append(lines, exportedAPIOfType(m, spec)...)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() {
					lines = append(lines, strings.TrimSpace(fmt.Sprint(d.Tok, " ", name.Name, " ", m.formatNode(spec.Type))))
				}
			}
		}
	}
	return lines
}

// exportedAPIOfType returns one line for a type, and one line for each exported field or interface method of
// the type.
func exportedAPIOfType(m *Module, spec *ast.TypeSpec) []string {
	name := spec.Name.Name
	head := "type " + name + m.formatTypeParams(spec.TypeParams) + " "
	if spec.Assign.IsValid() {
		head += "= "
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		return append([]string{head + "struct"}, exportedMembers(m, name, t.Fields)...)
	case *ast.InterfaceType:
		return append([]string{head + "interface"}, exportedMembers(m, name, t.Methods)...)
	}
	return []string{head + m.formatNode(spec.Type)}
}

// exportedMembers returns one line for each exported or embedded member of a struct or an interface. owner is
// the name of the type.
func exportedMembers(m *Module, owner string, list *ast.FieldList) []string {
	var lines []string
	for _, f := range list.List {
		if len(f.Names) == 0 {
			lines = append(lines, "type "+owner+", embedded "+m.formatNode(f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, "type "+owner+", "+n.Name+" "+m.formatNode(f.Type))
			}
		}
	}
	return lines
}

// formatTypeParams returns the type parameters of a type as source text in square brackets, or "" if list is
// nil.
func (m *Module) formatTypeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, f := range list.List {
		for _, n := range f.Names {
			all = append(all, n.Name+" "+m.formatNode(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// formatNode returns a piece of syntax as source text on one line, without comments. It returns "" for a nil
// node.
func (m *Module) formatNode(n ast.Node) string {
	if e, ok := n.(ast.Expr); n == nil || ok && e == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// checkHiddenTypes reports types that an exported name of an importable package shows and that no importer can
// name: unexported types, and types from internal packages. Codebase.Hidden lists the exceptions.
func checkHiddenTypes(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if !isImportable(p) {
			continue
		}
		types := unexportedTypeNames(p)
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				for _, e := range exposedTypes(d) {
					r.reportHiddenTypes(h, p, f, types, e)
				}
			}
		}
	}
}

// exposure is a type that an exported name shows.
type exposure struct {
	name string // such as Config.Queue
	expr ast.Node
}

// exposedTypes returns the type expressions of the exported names that a declaration declares. It returns none
// for a method of an unexported type.
func exposedTypes(d ast.Decl) []exposure {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || !ast.IsExported(receiverTypeName(d)) {
			return nil
		}
		name := d.Name.Name
		if d.Recv != nil {
			name = receiverTypeName(d) + "." + name
		}
		return []exposure{{name, d.Type}}
	case *ast.GenDecl:
		var all []exposure
		for _, spec := range d.Specs {
			all = append(all, exposedTypesOfSpec(spec)...)
		}
		return all
	}
	return nil
}

// exposedTypesOfSpec returns the type expressions that an exported name in one specification exposes. An exported
// struct exposes the type of each exported field that has a name; an embedded field is left out. Any other
// exported type exposes its definition. A constant or variable exposes its written type if the first name of the
// specification is exported. A constant or variable without a written type exposes none.
func exposedTypesOfSpec(spec ast.Spec) []exposure {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if t, ok := spec.Type.(*ast.StructType); ok {
			var all []exposure
			for _, f := range t.Fields.List {
				for _, n := range f.Names {
					if n.IsExported() {
						all = append(all, exposure{spec.Name.Name + "." + n.Name, f.Type})
					}
				}
			}
			return all
		}
		return []exposure{{spec.Name.Name, spec.Type}}
	case *ast.ValueSpec:
		if spec.Type != nil && spec.Names[0].IsExported() {
			return []exposure{{spec.Names[0].Name, spec.Type}}
		}
	}
	return nil
}

// reportHiddenTypes reports each type in an exposed expression that an importer cannot name.
func (r *findings) reportHiddenTypes(h Codebase, p *Package, f *File, types map[string]bool, e exposure) {
	ast.Inspect(e.expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // Its names are no types.
			ast.Inspect(n.Type, func(t ast.Node) bool { return r.reportHiddenType(h, p, f, types, e.name, t) })
			return false
		}
		return r.reportHiddenType(h, p, f, types, e.name, n)
	})
}

// reportHiddenType reports a syntax node that names a type of an internal package or one of types, the
// unexported types of the package. For a field it searches the type of the field. It returns true if
// ast.Inspect shall also visit the children of the node, and false if not.
func (r *findings) reportHiddenType(h Codebase, p *Package, f *File, types map[string]bool, name string, node ast.Node) (visitChildren bool) {
	text := ""
	switch n := node.(type) {
	case *ast.Field:
		r.reportHiddenTypes(h, p, f, types, exposure{name, n})
		return false
	case *ast.SelectorExpr:
		if pkg, sel := f.resolveSelector(n); slices.Contains(strings.Split(pkg, "/"), "internal") {
			text = sel
		}
	case *ast.Ident:
		if types[n.Name] {
			text = n.Name
		}
	}
	if text != "" && !slices.Contains(h.Hidden, p.Dir+" "+name+" "+text) {
		r.reportNode(f, node, "%s shows %s, which no importer can name: export and document it", name, text)
	}
	_, selector := node.(*ast.SelectorExpr)
	return !selector
}

// unexportedTypeNames returns the set of the names of the unexported types of a package.
func unexportedTypeNames(p *Package) map[string]bool {
	types := map[string]bool{}
	for _, f := range p.productionFiles() {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				if name := spec.(*ast.TypeSpec).Name; !name.IsExported() {
					types[name.Name] = true
				}
			}
		}
	}
	return types
}
