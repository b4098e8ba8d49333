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

// API is the exported API of a module as text, a name a line, in order. Only what
// another module can import counts: no program, and nothing below internal.
func API(m *Module, tiers map[string]Tier) string {
	var b strings.Builder
	for _, p := range m.Packages {
		if !importable(p) {
			continue
		}
		fmt.Fprintf(&b, "package %s %s\n", p.Dir, tiers[p.Dir])
		for _, line := range apiOf(m, p) {
			fmt.Fprintf(&b, "%s: %s\n", p.Dir, line)
		}
	}
	return b.String()
}

// importable reports whether another module can import a package.
func importable(p *Package) bool {
	return p.Name != "" && p.Name != "main" && !slices.Contains(strings.Split(p.Dir, "/"), "internal")
}

func apiOf(m *Module, p *Package) []string {
	var lines []string
	for _, f := range p.sources() {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && ast.IsExported(receiver(d)) {
					lines = append(lines, m.print(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}))
				}
			case *ast.GenDecl:
				lines = append(lines, apiOfDecl(m, d)...)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines) // The same for several systems.
}

func apiOfDecl(m *Module, d *ast.GenDecl) []string {
	var lines []string
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				lines = append(lines, apiOfType(m, spec)...)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() {
					lines = append(lines, strings.TrimSpace(fmt.Sprint(d.Tok, " ", name.Name, " ", m.print(spec.Type))))
				}
			}
		}
	}
	return lines
}

// apiOfType is a type and, a line each, its exported fields or its methods.
func apiOfType(m *Module, spec *ast.TypeSpec) []string {
	name := spec.Name.Name
	head := "type " + name + m.params(spec.TypeParams) + " "
	if spec.Assign.IsValid() {
		head += "= "
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		return append([]string{head + "struct"}, members(m, name, t.Fields)...)
	case *ast.InterfaceType:
		return append([]string{head + "interface"}, members(m, name, t.Methods)...)
	}
	return []string{head + m.print(spec.Type)}
}

func members(m *Module, owner string, list *ast.FieldList) []string {
	var lines []string
	for _, f := range list.List {
		if len(f.Names) == 0 {
			lines = append(lines, "type "+owner+", embedded "+m.print(f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, "type "+owner+", "+n.Name+" "+m.print(f.Type))
			}
		}
	}
	return lines
}

func (m *Module) params(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, f := range list.List {
		for _, n := range f.Names {
			all = append(all, n.Name+" "+m.print(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// print is a piece of syntax on one line, without comments.
func (m *Module) print(n ast.Node) string {
	if e, ok := n.(ast.Expr); n == nil || ok && e == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// hidden finds exported names whose types an importer cannot name, and aliases of
// what is internal: they show a name and no methods.
func hidden(r *findings, h Codebase) {
	for _, p := range r.m.Packages {
		if !importable(p) {
			continue
		}
		types := unexportedTypes(p)
		for _, f := range p.sources() {
			for _, d := range f.Decls {
				for _, e := range exposed(d) {
					r.mentions(h, p, f, types, e)
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

// exposed are the types that a declaration shows to an importer.
func exposed(d ast.Decl) []exposure {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || !ast.IsExported(receiver(d)) {
			return nil
		}
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d) + "." + name
		}
		return []exposure{{name, d.Type}}
	case *ast.GenDecl:
		var all []exposure
		for _, spec := range d.Specs {
			all = append(all, exposedBySpec(spec)...)
		}
		return all
	}
	return nil
}

func exposedBySpec(spec ast.Spec) []exposure {
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

// mentions reports the types in an exposed expression that an importer cannot name.
func (r *findings) mentions(h Codebase, p *Package, f *File, types map[string]bool, e exposure) {
	ast.Inspect(e.expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // Its names are no types.
			ast.Inspect(n.Type, func(t ast.Node) bool { return r.mention(h, p, f, types, e.name, t) })
			return false
		}
		return r.mention(h, p, f, types, e.name, n)
	})
}

func (r *findings) mention(h Codebase, p *Package, f *File, types map[string]bool, name string, n ast.Node) bool {
	text := ""
	switch n := n.(type) {
	case *ast.Field:
		r.mentions(h, p, f, types, exposure{name, n})
		return false
	case *ast.SelectorExpr:
		if pkg, sel := f.selected(n); slices.Contains(strings.Split(pkg, "/"), "internal") {
			text = sel
		}
	case *ast.Ident:
		if types[n.Name] {
			text = n.Name
		}
	}
	if text != "" && !slices.Contains(h.Hidden, p.Dir+" "+name+" "+text) {
		r.at(f, n, "%s shows %s, which no importer can name: export and document it", name, text)
	}
	_, selector := n.(*ast.SelectorExpr)
	return !selector
}

// unexportedTypes are the names of a package's types that importers do not see.
func unexportedTypes(p *Package) map[string]bool {
	types := map[string]bool{}
	for _, f := range p.sources() {
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
