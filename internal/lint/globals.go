package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkGlobals reports init functions, package variables with state, and calls outside programs that exit the process.
func checkGlobals(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		written := assignedVariables(p)
		for _, f := range p.productionFiles() {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						r.reportNode(f, d, "has an init function: importing a package does nothing")
					}
				case *ast.GenDecl:
					if d.Tok == token.VAR {
						reportGlobalVariables(r, f, d, written)
					}
				}
			}
			if p.Name != "main" {
				reportExitCalls(r, f)
			}
		}
	}
}

// reportGlobalVariables reports package variables that are not constant: variables that have no value, or that a function
// assigns to. A table that no function changes passes, as Go has no const for it.
func reportGlobalVariables(r *findings, f *File, d *ast.GenDecl, written map[string]bool) {
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		for _, name := range spec.Names {
			switch {
			case name.Name == "_" || hasEmbedDirective(firstComment(spec.Doc, d.Doc)):
			case len(spec.Values) == 0 || holdsLock(f, spec):
				r.reportNode(f, name, "%s is a variable of the package, made to be changed: put it into a struct", name.Name)
			case written[name.Name]:
				r.reportNode(f, name, "%s is a variable of the package that is written to: put it into a struct", name.Name)
			}
		}
	}
}

// hasEmbedDirective reports whether the compiler assigns a variable from a file.
func hasEmbedDirective(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// holdsLock reports whether a variable holds a lock or an atomic value.
func holdsLock(f *File, spec *ast.ValueSpec) bool {
	found := false
	ast.Inspect(spec, func(n ast.Node) bool {
		pkg, name := f.resolveSelector(n)
		found = found || pkg == "sync/atomic" || pkg == "sync" && !strings.HasPrefix(name, "Once")
		return true
	})
	return found
}

// assignedVariables returns the names of package variables that a function assigns to, deletes from, or takes the
// address of. Local variables do not count.
func assignedVariables(p *Package) map[string]bool {
	written, top := map[string]bool{}, packageLevelSpecs(p)
	write := func(e ast.Expr) {
		// Without an object the name is declared in another file, if at all.
		if id := rootVariable(e); id != nil && (id.Obj == nil || top[id.Obj.Decl]) {
			written[id.Name] = true
		}
	}
	for _, f := range p.productionFiles() {
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

// packageLevelSpecs returns the declarations of a package outside functions.
func packageLevelSpecs(p *Package) map[any]bool {
	top := map[any]bool{}
	for _, f := range p.productionFiles() {
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

// rootVariable returns the variable at the root of an expression: a of a.b[c].d.
func rootVariable(e ast.Expr) *ast.Ident {
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

// reportExitCalls reports calls that exit the process.
func reportExitCalls(r *findings, f *File) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		pkg, name := f.resolveSelector(n)
		switch {
		case pkg == "os" && name == "Exit":
			r.reportNode(f, n, "os.Exit: only a program ends the program, return an error")
		case pkg == "log" && (strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic")):
			r.reportNode(f, n, "log.%s: only a program ends the program, return an error", name)
		}
		return true
	})
}
