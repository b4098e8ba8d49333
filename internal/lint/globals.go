package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkInitGlobalsAndLibraryExits reports init functions and package variables that can change, in all
// packages. In packages other than main it also reports uses of functions that exit the process or panic
// through package log.
func checkInitGlobalsAndLibraryExits(r *findings, _ Codebase) {
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

// reportGlobalVariables reports package variables that have no initial value, hold a lock, or are in written.
// It skips _ and embedded files. A table that no function changes passes, as Go has no const for it.
func reportGlobalVariables(r *findings, f *File, d *ast.GenDecl, written map[string]bool) {
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		for _, name := range spec.Names {
			switch {
			case name.Name == "_" || hasEmbedDirective(firstComment(spec.Doc, d.Doc)):
			case len(spec.Values) == 0 || usesSyncOrAtomic(f, spec):
				r.reportNode(f, name, "%s is a variable of the package, made to be changed: put it into a struct", name.Name)
			case written[name.Name]:
				r.reportNode(f, name, "%s is a variable of the package that is written to: put it into a struct", name.Name)
			}
		}
	}
}

// hasEmbedDirective reports whether a comment has a go:embed directive.
func hasEmbedDirective(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// usesSyncOrAtomic reports whether the type or the value of a variable uses sync/atomic, or a name of sync that does
// not begin with Once.
func usesSyncOrAtomic(f *File, spec *ast.ValueSpec) bool {
	found := false
	ast.Inspect(spec, func(n ast.Node) bool {
		pkg, name := f.resolveSelector(n)
		found = found || pkg == "sync/atomic" || pkg == "sync" && !strings.HasPrefix(name, "Once")
		return true
	})
	return found
}

// assignedVariables returns the names of package variables that the package assigns to, increments, deletes
// from, clears, or takes the address of. It compares no types: a name that its own file does not declare counts
// as a package variable.
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

// packageLevelSpecs returns the set of the specifications that a package declares outside functions.
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

// rootVariable returns the variable at the root of an expression, for example a of a.b[c].d. It returns nil if
// the root is no variable.
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

// reportExitCalls reports each use of os.Exit and of a log function whose name begins with Fatal or Panic.
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
