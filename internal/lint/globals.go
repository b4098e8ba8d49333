package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// globals wants no work at import time, no state beside that of values, and
// nobody but a program to end the program.
func globals(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		written := writtenTo(p)
		for _, f := range p.sources() {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						r.at(f, d, "has an init function: importing a package does nothing")
					}
				case *ast.GenDecl:
					if d.Tok == token.VAR {
						variables(r, f, d, written)
					}
				}
			}
			if p.Name != "main" {
				exits(r, f)
			}
		}
	}
}

// variables reports package variables that are more than a constant for which
// Go has no const: those have a value, and nobody writes to them.
func variables(r *findings, f *File, d *ast.GenDecl, written map[string]bool) {
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		for _, name := range spec.Names {
			switch {
			case name.Name == "_" || embeds(first(spec.Doc, d.Doc)):
			case len(spec.Values) == 0 || locks(f, spec):
				r.at(f, name, "%s is a variable of the package, made to be changed: put it into a struct", name.Name)
			case written[name.Name]:
				r.at(f, name, "%s is a variable of the package that is written to: put it into a struct", name.Name)
			}
		}
	}
}

// embeds reports a file's content, which the compiler assigns.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// locks reports a variable that holds a lock or an atomic value.
func locks(f *File, spec *ast.ValueSpec) bool {
	found := false
	ast.Inspect(spec, func(n ast.Node) bool {
		pkg, name := f.selected(n)
		found = found || pkg == "sync/atomic" || pkg == "sync" && !strings.HasPrefix(name, "Once")
		return true
	})
	return found
}

// writtenTo are the names that some function of the package assigns to, deletes
// from, or takes the address of, unless they are its own.
func writtenTo(p *Package) map[string]bool {
	written, top := map[string]bool{}, topSpecs(p)
	write := func(e ast.Expr) {
		// Without an object the name is declared in another file, if at all.
		if id := bottom(e); id != nil && (id.Obj == nil || top[id.Obj.Decl]) {
			written[id.Name] = true
		}
	}
	for _, f := range p.sources() {
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if n.Tok != token.DEFINE {
						write(e)
					}
				}
			case *ast.IncDecStmt:
				write(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					write(n.X)
				}
			case *ast.CallExpr:
				if name := calledName(n.Fun); (name == "delete" || name == "clear") && len(n.Args) > 0 {
					write(n.Args[0])
				}
			}
			return true
		})
	}
	return written
}

// topSpecs are the declarations of a package that stand in no function.
func topSpecs(p *Package) map[any]bool {
	top := map[any]bool{}
	for _, f := range p.sources() {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					top[s] = true
				}
			}
		}
	}
	return top
}

// bottom is the variable at the bottom of an expression like a.b[c].d.
func bottom(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// exits reports calls that end the program.
func exits(r *findings, f *File) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		pkg, name := f.selected(n)
		switch {
		case pkg == "os" && name == "Exit":
			r.at(f, n, "os.Exit: only a program ends the program, return an error")
		case pkg == "log" && (strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic")):
			r.at(f, n, "log.%s: only a program ends the program, return an error", name)
		}
		return true
	})
}
