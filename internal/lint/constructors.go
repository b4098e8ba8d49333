package lint

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"
)

// constructors wants functions called New… to start nothing. Whatever they
// return is started by Run.
func constructors(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		for _, f := range p.sources() {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !isConstructor(fn.Name.Name) || fn.Body == nil {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					if starts(n) {
						r.at(f, n, "%s starts something: New starts nothing, Run does", fn.Name.Name)
					}
					return true
				})
			}
		}
	}
}

// isConstructor reports whether a function is called New or NewSomething.
func isConstructor(name string) bool {
	rest, ok := strings.CutPrefix(name, "New")
	return ok && (rest == "" || unicode.IsUpper(rune(rest[0])))
}

// starts reports whether n makes something run concurrently: by go, by a
// method called Go, or by executor.Each.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		s, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, _ := s.X.(*ast.Ident)
		return s.Sel.Name == "Go" || s.Sel.Name == "Each" && x != nil && x.Name == "executor"
	}
	return false
}

// examples wants every exported constructor of a public package to be called
// by an example that is run, which is to say one with an output.
func examples(r *findings, _ Codebase) {
	for _, p := range r.m.Packages {
		if p.Name == "main" || slices.Contains(strings.Split(p.Dir, "/"), "internal") {
			continue
		}
		called := calledByExamples(p)
		for _, f := range p.sources() {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && fn.Recv == nil && isConstructor(fn.Name.Name) && !called[fn.Name.Name] {
					r.at(f, fn, "no Example with an Output calls %s: show it in ten lines", fn.Name.Name)
				}
			}
		}
	}
}

// calledByExamples are the functions of any package that run examples call.
func calledByExamples(p *Package) map[string]bool {
	called := map[string]bool{}
	for _, f := range p.tests() {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Example") || !hasOutput(f, fn) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					called[calledName(call.Fun)] = true
				}
				return true
			})
		}
	}
	return called
}

// calledName is the last part of what is called.
func calledName(fun ast.Expr) string {
	switch x := fun.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.IndexExpr:
		return calledName(x.X)
	}
	return ""
}

// hasOutput reports whether a function has the comment that makes go test run
// it as an example.
func hasOutput(f *File, fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		text := strings.ToLower(c.Text())
		return c.Pos() > fn.Body.Pos() && c.End() < fn.Body.End() &&
			(strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:"))
	})
}
